import type { ExchangeAnswer } from './exchange.ts'
import { busy, misunderstood } from './failures.ts'
import { readUserInfo, type UserInfo } from './user-info.ts'

/** The id of every request: one connection carries one question at a time. */
export const requestId = 1

/** What Particle Network says about a uuid and a token. */
export type Answer =
  | { readonly kind: 'user'; readonly user: UserInfo }
  /** It doesn't know the user, or not with this token. */
  | { readonly kind: 'unproven'; readonly code: number }
  /** It doesn't accept the node's project id and server key. */
  | { readonly kind: 'key-refused'; readonly code: number }

/** "Authentication failed: invalid project ID or invalid project key." */
const keyRefused = 40102

/**
 * Codes that say nothing about the user: system error, body error; parse error, invalid request, unknown method,
 * internal error, server error. The codes of a wrong user or token are not documented completely, so every other
 * code counts as one.
 */
const serverFaults: ReadonlySet<number> = new Set([10001, 40110, -32700, -32600, -32601, -32603, -32000])

/**
 * Reads an answer of Particle Network's server API: JSON-RPC 2.0, errors included with HTTP status 200, as its
 * pages "getUserInfo" and "Common API errors" (developers.particle.network) show it.
 *
 * @throws NodekeepError UPSTREAM_ERROR or SERVICE_UNAVAILABLE
 */
export function readAnswer({ status, headers, text }: ExchangeAnswer): Answer {
  if (status === 401 || status === 403) return { kind: 'key-refused', code: status }
  if (status === 429 || status === 503) throw busy(headers.get('retry-after'))
  if (status !== 200) throw misunderstood(`its status is ${status}`)
  if (!/^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '')) {
    throw misunderstood('it is not application/json')
  }
  const message = parse(text)
  if (!isObject(message) || message.jsonrpc !== '2.0') throw misunderstood('it is not JSON-RPC 2.0')
  if (message.error !== undefined && message.error !== null) return readError(message)
  if (message.id !== requestId) throw misunderstood('it belongs to another request')
  return { kind: 'user', user: readUserInfo(message.result) }
}

function readError({ id, error }: Record<string, unknown>): Answer {
  if (id !== requestId && id !== null) throw misunderstood('it belongs to another request')
  const code = isObject(error) ? error.code : undefined
  if (typeof code !== 'number' || !Number.isInteger(code)) throw misunderstood('its error has no code')
  if (serverFaults.has(code)) throw misunderstood(`it is the error ${code}`)
  return { kind: code === keyRefused ? 'key-refused' : 'unproven', code }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw misunderstood('it is not JSON')
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
