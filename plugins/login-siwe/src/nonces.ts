import { randomBytes } from 'node:crypto'
import type { StateStore } from '@nodekeep/plugin-sdk'

/** A nonce that was given out. */
export interface Nonce {
  /** 128 random bits as 32 hexadecimal digits. */
  readonly value: string
  readonly expires: Date
}

interface Stored {
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/**
 * Nonces that were given out and not used yet, in the plugin's state: they outlive a restart, and a used one stays
 * used after a crash.
 */
export class Nonces {
  readonly #state: StateStore
  readonly #ttlMs: number
  readonly #max: number
  /** The end of each by its value, the oldest first: what bounds the number of rows in the state. */
  readonly #outstanding = new Map<string, number>()
  /** Ends with the nonce that is being given out: one after the other, or the bound would not hold. */
  #turn: Promise<unknown> = Promise.resolve()

  /**
   * @param ttlMs milliseconds for which a nonce can be used
   * @param max how many may wait at a time; the oldest end early, so that a flood locks nobody out for good
   */
  constructor(state: StateStore, ttlMs: number, max: number) {
    this.#state = state
    this.#ttlMs = ttlMs
    this.#max = max
  }

  /** Finds the nonces that an earlier run gave out. */
  async load(): Promise<void> {
    const found: [string, number][] = []
    for await (const [value, { expires }] of this.#state.entries<Stored>()) found.push([value, expires])
    found.sort(([, one], [, other]) => one - other)
    for (const [value, expires] of found) this.#outstanding.set(value, expires)
    await this.#makeRoom(0)
  }

  issue(): Promise<Nonce> {
    const issuing = this.#turn.then(() => this.#issue())
    this.#turn = issuing.catch(() => {})
    return issuing
  }

  /** Whether a nonce could be used now. */
  async isOutstanding(value: string): Promise<boolean> {
    // Another process may have given it out.
    const expires = this.#outstanding.get(value) ?? (await this.#state.get<Stored>(value))?.expires
    return expires !== undefined && expires > Date.now()
  }

  /** Uses a nonce up. Of several that try at once, `true` is the answer to one. */
  async consume(value: string): Promise<boolean> {
    // The state's delete alone would count an expired row, too.
    const isOutstanding = await this.isOutstanding(value)
    this.#outstanding.delete(value)
    return isOutstanding && (await this.#state.delete(value))
  }

  async #issue(): Promise<Nonce> {
    await this.#makeRoom(1)
    const value = randomBytes(16).toString('hex')
    const expires = Date.now() + this.#ttlMs
    this.#outstanding.set(value, expires)
    await this.#state.set(value, { expires } satisfies Stored, this.#ttlMs)
    return { value, expires: new Date(expires) }
  }

  /** Forgets expired nonces, whose rows the state removes itself, and ends the oldest where there are too many. */
  async #makeRoom(wanted: number): Promise<void> {
    const ended: Promise<boolean>[] = []
    const now = Date.now()
    for (const [value, expires] of this.#outstanding) {
      const isExpired = expires <= now
      if (!isExpired && this.#outstanding.size + wanted <= this.#max) break
      this.#outstanding.delete(value)
      if (!isExpired) ended.push(this.#state.delete(value))
    }
    await Promise.all(ended)
  }
}
