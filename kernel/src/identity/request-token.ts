import type { FastifyRequest } from 'fastify'
import { isTokenForm } from './token.ts'

/** The name of the cookie that may carry a session token (interface, "Authentication"). */
export const sessionCookie = 'session'

/** A session token as a request carries it. */
export interface RequestToken {
  readonly token: string
  readonly by: 'header' | 'cookie'
}

/**
 * Takes the token from `Authorization: Bearer` or, without that header, from the cookie. Never from elsewhere.
 *
 * Cookies know no ports and `session` is a common name, so a cookie without the form of a token is another program's
 * on the same host, and not an attempt to guess one.
 */
export function tokenOf(request: FastifyRequest): RequestToken | null {
  const header = request.headers.authorization
  if (header !== undefined) {
    const token = /^Bearer +(\S+) *$/i.exec(header)?.[1]
    return token === undefined ? null : { token, by: 'header' }
  }
  const token = request.cookies[sessionCookie]
  return token === undefined || !isTokenForm(token) ? null : { token, by: 'cookie' }
}
