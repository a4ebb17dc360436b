import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { isTokenForm } from '../sessions/token.ts'
import type { NodeOrigins } from './node-origins.ts'

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
 * Cookies ignore ports and `session` is a common name. A cookie without the form of a token therefore belongs to
 * another program on the same host, and is not an attempt to guess a token.
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

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Tells whether a request changes something, or opens a connection that can. */
export function mayChange({ method = '', headers }: IncomingMessage): boolean {
  return !safeMethods.has(method) || headers.upgrade !== undefined
}

/**
 * Tells whether a request comes from the node's own pages or from no page at all. A browser also sends a cookie with
 * requests of foreign pages; it says so in `Sec-Fetch-Site` or at least in `Origin`.
 *
 * @param request its `host` is the one that the client sent to a trusted proxy, not the one that the proxy sent on
 * @param origins tells whether the pages of an origin such as `https://app.example` may act as the node's own
 */
export function isSameOrigin(
  { headers, protocol, host }: Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>,
  origins: Pick<NodeOrigins, 'isTrusted'>,
): boolean {
  const { origin } = headers
  if (origin !== undefined && origins.isTrusted(origin)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (origin === undefined) return true
  const own = URL.parse(`${protocol}://${host}`)
  return own !== null && URL.parse(origin)?.host === own.host
}
