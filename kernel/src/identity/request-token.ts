import type { FastifyRequest } from 'fastify'

/** The name of the cookie that may carry a session token (interface, "Authentication"). */
export const sessionCookie = 'session'

/** A session token as a request carries it. */
export interface RequestToken {
  readonly token: string
  readonly by: 'header' | 'cookie'
}

/** Takes the token from `Authorization: Bearer` or, without that header, from the cookie. Never from elsewhere. */
export function tokenOf(request: FastifyRequest): RequestToken | null {
  const header = request.headers.authorization
  if (header !== undefined) {
    const token = /^Bearer +(\S+) *$/i.exec(header)?.[1]
    return token === undefined ? null : { token, by: 'header' }
  }
  const token = request.cookies[sessionCookie]
  return token === undefined ? null : { token, by: 'cookie' }
}
