import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a request changes something, or opens a connection that can. */
export function mayChange({ method = '', headers }: IncomingMessage): boolean {
  return !safeMethods.has(method) || headers.upgrade !== undefined
}

/**
 * Whether a request comes from the node's own pages or from no page at all. A browser sends a cookie along with
 * requests of foreign pages too; it says so in `Sec-Fetch-Site` or at least in `Origin`.
 *
 * @param request its `host` is the one that a trusted proxy was asked for, and not what the proxy made of it
 * @param allowed further origins that configuration trusts, such as `https://app.example`
 */
export function isSameOrigin(request: SentFrom, allowed: ReadonlySet<string>): boolean {
  const { headers, protocol, host } = request
  const { origin } = headers
  if (origin !== undefined && allowed.has(origin)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (origin === undefined) return true
  const own = URL.parse(`${protocol}://${host}`)
  return own !== null && URL.parse(origin)?.host === own.host
}

type SentFrom = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>
