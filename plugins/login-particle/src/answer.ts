import type { ExchangeAnswer } from './exchange.ts'
import { busy, misunderstood } from './failures.ts'

/** The id of every request. A connection carries one request at a time, so the ids need not differ. */
export const requestId = 1

/** The part of a user at Particle Network that a sign-in needs. */
export interface UserInfo {
  readonly uuid: string
  /** Addresses of the user's wallets on EVM chains. */
  readonly evmAddresses: readonly string[]
}

/** The answer of Particle Network about a uuid and a token. */
type Answer =
  | { readonly kind: 'user'; readonly user: UserInfo }
  /** It does not know the user, or not with this token. */
  | { readonly kind: 'unproven'; readonly code: number }
  /** It does not accept the node's project id and server key. */
  | { readonly kind: 'key-refused'; readonly code: number }

/** "Authentication failed: invalid project ID or invalid project key." */
const keyRefused = 40102

/**
 * Error codes that do not concern the user: system error, body error, parse error, invalid request, unknown method,
 * internal error, server error. The codes for a wrong user or token are not documented completely, so every other code
 * counts as one of them.
 */
const serverFaults: ReadonlySet<number> = new Set([10001, 40110, -32700, -32600, -32601, -32603, -32000])

/**
 * Reads an answer of Particle Network's server API: JSON-RPC 2.0 with HTTP status 200, also for errors. The format is on
 * the pages "getUserInfo" and "Common API errors" of developers.particle.network.
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

/**
 * Reads the result of `getUserInfo`: `{ uuid, wallets: [{ chain, publicAddress }], … }`, where `chain` is `evm_chain` or
 * another kind such as `solana`. It does not read the names and mail addresses in the result.
 */
function readUserInfo(result: unknown): UserInfo {
  const { uuid, wallets } = (result ?? {}) as Record<string, unknown>
  if (typeof uuid !== 'string') throw misunderstood('the user has no uuid')
  if (!Array.isArray(wallets)) throw misunderstood('the user has no list of wallets')
  return { uuid, evmAddresses: wallets.flatMap(evmAddress) }
}

function evmAddress(wallet: unknown): string[] {
  const { chain, publicAddress } = (wallet ?? {}) as Record<string, unknown>
  if (typeof chain !== 'string' || typeof publicAddress !== 'string') {
    throw misunderstood('a wallet has no chain or no address')
  }
  return chain === 'evm_chain' ? [publicAddress] : []
}
