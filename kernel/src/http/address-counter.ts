import { addressGroup } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'

interface AddressCounterOptions {
  readonly windowMs: number
  /** Addresses in memory. The least recently used one is evicted first. */
  readonly capacity: number
}

/** The events of one address in its current window. */
interface AddressCount {
  readonly count: number
  /** Whole seconds until the window ends; at least 1. */
  readonly seconds: number
}

/** Counts events by client address, in bounded memory. It does not depend on the system's clock. */
export class AddressCounter {
  readonly #options: AddressCounterOptions
  /** Counts by address, until the end of the window that began with the first event. It takes its memory when it is made. */
  #counts: LRUCache<string, number> | undefined

  constructor(options: AddressCounterOptions = { windowMs: 60_000, capacity: 10_000 }) {
    this.#options = options
  }

  /** Counts an event, and returns the count with it. */
  count(address: string | undefined): AddressCount {
    const { windowMs: ttl, capacity: max } = this.#options
    this.#counts ??= new LRUCache({ max, ttl, ttlResolution: 0, noUpdateTTL: true })
    const group = addressGroup(address)
    const count = (this.#counts.get(group) ?? 0) + 1
    this.#counts.set(group, count)
    return { count, seconds: Math.max(1, Math.ceil(this.#counts.getRemainingTTL(group) / 1000)) }
  }
}
