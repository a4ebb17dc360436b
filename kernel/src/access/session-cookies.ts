import type { CookieSerializeOptions } from '@fastify/cookie'
import type { Log, NodeIdentity } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isTokenForm } from '../sessions/token.ts'
import type { NodeOrigins } from './node-origins.ts'

/** The name of the cookie that may carry a session token (interface, "Authentication"). */
const sharedName = 'session'

/** A session token as a request carries it. */
export interface CarriedToken {
  readonly token: string
  /**
   * Only this node sets its own cookies. The cookie `session` may be that of another node, or of any program on the host. A
   * presentation is the way of the route's protocol.
   */
  readonly by: 'header' | 'presentation' | 'own cookie' | 'shared cookie'
}

/**
 * The cookies that carry a session token. Cookies ignore ports, so two nodes on one host replace each other's cookie `session`. A
 * sign-in therefore also sets a cookie with a name of the node's own, which counts first.
 *
 * Over TLS its name begins with `__Host-` (RFC 6265bis, section 4.1.3.2): no other name of the domain can set or replace it. Browsers also
 * take such a cookie from any program at a loopback address, and send it there without TLS. So it counts over TLS only, and the other
 * name without TLS only: otherwise, a cookie that a sign-in does not replace would count before the one that it sets.
 */
export class SessionCookies {
  readonly #identity: NodeIdentity
  readonly #origins: Pick<NodeOrigins, 'isEncrypted'>
  readonly #log: Log
  #names: OwnNames | null | undefined

  constructor(identity: NodeIdentity, origins: Pick<NodeOrigins, 'isEncrypted'>, log: Log) {
    this.#identity = identity
    this.#origins = origins
    this.#log = log
  }

  /**
   * Takes the token from `Authorization: Bearer` or, without that header, from the node's own cookie or, without that cookie, from
   * the cookie `session`. A cookie without the form of a token is that of another program. On a route with a presentation of its own,
   * that one takes the place of the cookies. Never from elsewhere.
   */
  tokenOf(request: FastifyRequest): CarriedToken | null {
    const { authorization: header, cookie } = request.headers
    const bearer = header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
    if (bearer !== undefined) return { token: bearer, by: 'header' }
    const { presentation } = request.routeOptions.config
    if (presentation !== undefined) {
      const token = presentation.read(request)
      return token === null ? null : { token, by: 'presentation' }
    }
    if (header !== undefined || cookie === undefined) return null
    const carried = this.#carriedBy(request)
    const ownName = this.#ownNameFor(request)
    const own = ownName === null ? undefined : carried.get(ownName)
    if (own !== undefined) return { token: own, by: 'own cookie' }
    const shared = carried.get(sharedName)
    return shared === undefined ? null : { token: shared, by: 'shared cookie' }
  }

  /** Returns all tokens in the cookies of a request, also those that do not count. */
  tokensOf(request: FastifyRequest): ReadonlySet<string> {
    return new Set(this.#carriedBy(request).values())
  }

  /** Gives the browser a session, for a number of seconds. */
  set(reply: FastifyReply, token: string, maxAge: number): void {
    const secure = this.#origins.isEncrypted(reply.request)
    const own = this.#ownNameFor(reply.request)
    for (const name of own === null ? [sharedName] : [sharedName, own]) {
      reply.setCookie(name, token, { ...attributes, secure, maxAge })
    }
  }

  /** Removes the cookies with these tokens from the browser. A cookie `session` with another token is not touched. */
  clear(reply: FastifyReply, tokens: ReadonlySet<string>): void {
    const { request } = reply
    const isEncrypted = this.#origins.isEncrypted(request)
    for (const [name, token] of this.#carriedBy(request)) {
      // Browsers refuse every cookie whose name begins with `__Host-` and that is not Secure.
      const secure = isEncrypted || name === this.#ownNames()?.encrypted
      if (tokens.has(token)) reply.clearCookie(name, { ...attributes, secure })
    }
  }

  /** The cookies of a request with a token, by their names. */
  #carriedBy({ cookies }: FastifyRequest): ReadonlyMap<string, string> {
    const names = this.#ownNames()
    const found = new Map<string, string>()
    for (const name of names === null ? [sharedName] : [names.encrypted, names.plain, sharedName]) {
      const token = cookies[name]
      if (token !== undefined && isTokenForm(token)) found.set(name, token)
    }
    return found
  }

  /** The name of the own cookie that a sign-in sets over this connection, and that counts on it. */
  #ownNameFor(request: FastifyRequest): string | null {
    const names = this.#ownNames()
    if (names === null) return null
    return this.#origins.isEncrypted(request) ? names.encrypted : names.plain
  }

  /** Returns `null` if the identity is damaged. Sign-ins must go on without it. */
  #ownNames(): OwnNames | null {
    if (this.#names !== undefined) return this.#names
    try {
      const plain = `${sharedName}-${this.#identity.nodeId}`
      this.#names = { plain, encrypted: `__Host-${plain}` }
    } catch (err) {
      this.#names = null
      const effect = 'Its sign-ins end those at other nodes on the host, until it starts with an identity.'
      this.#log.warn({ err }, `The node has no session cookie of its own. ${effect}`)
    }
    return this.#names
  }
}

/** The names of the cookie that only this node uses. */
interface OwnNames {
  readonly plain: string
  readonly encrypted: string
}

/** Scripts cannot read the cookies, and browsers do not send them with forms of foreign pages. */
const attributes = { path: '/', httpOnly: true, sameSite: 'lax' } as const satisfies CookieSerializeOptions
