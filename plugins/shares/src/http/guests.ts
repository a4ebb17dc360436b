import { addressGroup, type NodeAddress } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noSuchLink, nothingThere } from '../guests/not-there.ts'
import { cookieFor, mayEnter, type Passwords } from '../guests/passwords.ts'
import { html } from '../pages/html.ts'
import { documentOf } from '../pages/page.ts'
import { isReadable, type Share, takesDrops } from '../share.ts'
import type { ShareTable } from '../tables/share-table.ts'
import { hashOfToken } from '../token.ts'

/** A guest with a link that works. */
export interface Guest {
  readonly share: Share
  /** The secret of the link. */
  readonly token: string
  /** The group of the guest's address, by which limits count. */
  readonly address: string
}

interface GuestsServices {
  readonly shares: ShareTable
  readonly passwords: Passwords
  readonly nodeAddress: NodeAddress
}

/** Lets guests in: those with the secret of an open link, and its password. */
export class Guests {
  readonly #services: GuestsServices

  constructor(services: GuestsServices) {
    this.#services = services
  }

  /**
   * Returns the guest who sends a request, who may still lack the password.
   *
   * @throws NodekeepError NOT_FOUND
   */
  of({ params, ip }: FastifyRequest): Guest {
    const { token } = params as { token: string }
    const share = this.#services.shares.byToken(hashOfToken(token))
    if (share === null || share.isClosed || share.expires.getTime() <= Date.now()) throw noSuchLink()
    return { share, token, address: addressGroup(ip) }
  }

  /** Whether a guest needs no password any more. */
  mayEnter({ share }: Guest, { headers }: FastifyRequest): boolean {
    return mayEnter(share, headers.cookie)
  }

  /**
   * Returns a handler for guests who may do something. Others see the page for the password.
   *
   * @param may the right that the link must give
   */
  only(
    may: 'read' | 'drop' | 'any',
    handler: (guest: Guest, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const guest = this.of(request)
      if (!this.mayEnter(guest, request)) return ask(guest, reply, null)
      if (may === 'read' && !isReadable(guest.share)) throw nothingThere()
      if (may === 'drop' && !takesDrops(guest.share)) throw nothingThere()
      return handler(guest, request, reply)
    }
  }

  /** Answers a guest who sends a password. */
  async enter(request: FastifyRequest, reply: FastifyReply, password: string): Promise<FastifyReply> {
    const guest = this.of(request)
    const { share, token, address } = guest
    const isRight = await this.#services.passwords.isRight(share, address, password)
    if (!isRight) return ask(guest, reply, 'That is not the password of this link.')
    const isEncrypted = this.#isEncrypted(request)
    if (share.password !== null) reply.header('set-cookie', cookieFor(share, token, isEncrypted))
    return reply.redirect(`/s/${token}`, 303)
  }

  #isEncrypted(request: FastifyRequest): boolean {
    try {
      return this.#services.nodeAddress.originOf(request).protocol === 'https:'
    } catch {
      // The request came by another name than one of the node.
      return request.protocol === 'https'
    }
  }
}

/** Sends the page that asks for the password of a link. */
function ask({ token }: Guest, reply: FastifyReply, fault: string | null): FastifyReply {
  const content = html`<h1>This link has a password</h1>
<form class="enter" method="post" action="/s/${token}/password">
  <label>Password<input type="password" name="password" required maxlength="200" autocomplete="current-password"></label>
  ${fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`}
  <div class="buttons"><button class="main">Open</button></div>
</form>`
  return reply
    .code(401)
    .type('text/html; charset=utf-8')
    .send(documentOf({ title: 'Password', content }))
}
