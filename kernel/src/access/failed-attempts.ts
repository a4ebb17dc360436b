import { isIP, isIPv6, SocketAddress } from 'node:net'
import { LRUCache } from 'lru-cache'

/**
 * Groups client addresses for limits. A client with one IPv6 address usually has the whole /64 around it.
 *
 * @param address as the socket or a trusted proxy tells it; what is no IP address is one group
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || !isIP(address)) return 'unknown'
  if (!isIPv6(address)) return address
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = canonical.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}

export interface FailedAttemptsOptions {
  /** Failures of one address within the window that are answered normally. */
  readonly limit: number
  readonly windowMs: number
  /** Addresses in memory. The least recently used one is evicted first. */
  readonly capacity: number
}

/** Counts failures by client address, in bounded memory. It does not depend on the system's clock. */
export class FailedAttempts {
  readonly #limit: number
  /** Failures by address, until the end of the window that began with the first one. */
  readonly #failures: LRUCache<string, number>

  constructor(
    { limit, windowMs, capacity }: FailedAttemptsOptions = { limit: 60, windowMs: 60_000, capacity: 10_000 },
  ) {
    this.#limit = limit
    this.#failures = new LRUCache({ max: capacity, ttl: windowMs, ttlResolution: 0, noUpdateTTL: true })
  }

  /**
   * Counts a failure.
   *
   * @returns seconds to wait when there were too many, otherwise 0
   */
  count(address: string | undefined): number {
    const group = addressGroup(address)
    const failures = (this.#failures.get(group) ?? 0) + 1
    this.#failures.set(group, failures)
    if (failures <= this.#limit) return 0
    return Math.max(1, Math.ceil(this.#failures.getRemainingTTL(group) / 1000))
  }
}
