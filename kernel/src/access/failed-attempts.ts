import { LRUCache } from 'lru-cache'
import { addressGroup } from '../http/address-group.ts'

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
