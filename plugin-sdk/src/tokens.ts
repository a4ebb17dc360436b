import type { FastifyRequest } from 'fastify'
import type { RoutesApp } from './routes.ts'
import { defineService } from './service.ts'

/** How the requests of a protocol present a token of the node, besides `Authorization: Bearer`. */
export interface TokenPresentation {
  /**
   * Finds the token in the headers of a request, such as in the password of Basic (RFC 7617). It runs before the body is read.
   *
   * @returns the token in the form in which the request presents it, which may be wrong; `null` if there is none
   */
  read(request: FastifyRequest): string | null
  /** The value of `www-authenticate` in answers with 401 (RFC 9110, section 11.6.1), such as `Basic realm="Nodekeep"`. */
  readonly challenge: string
}

/** Lets clients present tokens of the node as their protocol does. */
export interface Tokens {
  /**
   * Makes the routes that are registered on `app` from now on, also by nested Fastify plugins, take the token from
   * `Authorization: Bearer` or else from `presentation`, and never from a cookie. The node checks it as on each route, and sets
   * `request.user`: the user must not be disabled, the token must not have ended, and it must have the `scope` of the route. The
   * limit of wrong tokens, the log of refusals and the ends of sessions apply.
   *
   * Every request to these routes over an unencrypted connection from outside is refused, as a sign-in is. So is a change by a page
   * of another site: browsers send passwords of Basic by themselves.
   *
   * @example
   * routes((app) => {
   *   tokens.accept(app, { read: basicPassword, challenge: 'Basic realm="Nodekeep"' })
   *   app.get('/notes.ics', { config: { scope: 'notes:read' } }, async (request) => calendarOf(userOf(request)))
   * })
   */
  accept(app: RoutesApp, presentation: TokenPresentation): void
}

/** The kernel's service for protocols that present tokens in a way of their own. */
export const Tokens = defineService<Tokens>('tokens', 1)
