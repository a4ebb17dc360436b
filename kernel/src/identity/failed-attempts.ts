import { addressGroup } from '../http/address-group.ts'

interface Window {
  readonly since: number
  count: number
}

export interface FailedAttemptsOptions {
  /** Failures of one address within the window that are answered normally. */
  readonly limit: number
  readonly windowMs: number
  /** Addresses that are remembered; the oldest are forgotten first. */
  readonly capacity: number
}

/** Counts failures by client address, in bounded memory. A clock that is set changes nothing. */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions
  readonly #windows = new Map<string, Window>()

  constructor(options: FailedAttemptsOptions = { limit: 60, windowMs: 60_000, capacity: 10_000 }) {
    this.#options = options
  }

  /**
   * Counts a failure.
   *
   * @returns seconds to wait when there were too many, otherwise 0
   */
  count(address: string | undefined): number {
    const { limit, windowMs, capacity } = this.#options
    const group = addressGroup(address)
    const now = performance.now()
    let window = this.#windows.get(group)
    if (window === undefined || window.since + windowMs <= now) {
      this.#windows.delete(group)
      const oldest = this.#windows.keys().next()
      if (this.#windows.size >= capacity && !oldest.done) this.#windows.delete(oldest.value)
      window = { since: now, count: 0 }
      this.#windows.set(group, window)
    }
    window.count += 1
    return window.count <= limit ? 0 : Math.ceil((window.since + windowMs - now) / 1000)
  }
}
