import type { IncomingMessage } from 'node:http'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a request changes something, or opens a connection that can. */
export function mayChange({ method = '', headers }: IncomingMessage): boolean {
  return !safeMethods.has(method) || headers.upgrade !== undefined
}

/**
 * Whether a request comes from the node's own pages or from no page at all. A browser sends a cookie along with
 * requests of foreign pages too; it says so in `Sec-Fetch-Site` or at least in `Origin`.
 *
 * @param allowed further origins that configuration trusts, such as `https://app.example`
 */
export function isSameOrigin({ headers }: IncomingMessage, allowed: ReadonlySet<string>): boolean {
  const { origin } = headers
  if (origin !== undefined && allowed.has(origin)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === headers.host
}
