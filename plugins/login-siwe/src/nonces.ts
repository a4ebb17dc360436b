import { randomBytes } from 'node:crypto'
import { Mutex, type StateStore } from '@nodekeep/plugin-sdk'

/** An issued nonce. */
interface Nonce {
  /** 128 random bits as 32 hexadecimal digits. */
  readonly value: string
  readonly expires: Date
}

interface Stored {
  /** Milliseconds since the epoch. */
  readonly expires: number
  /** The origin of the node that the client asked. */
  readonly origin: string
}

/**
 * The nonces that were issued and not used yet. They are in the plugin's state, so they outlive a restart, and a used
 * nonce stays used after a crash.
 */
export class Nonces {
  readonly #state: StateStore
  readonly #ttlMs: number
  readonly #max: number
  /** The oldest nonce is first. The map bounds the number of rows in the state. */
  readonly #outstanding = new Map<string, Stored>()
  /** Nonces are issued one after the other. Otherwise the bound would not hold. */
  readonly #issuing = new Mutex()

  /**
   * @param ttlMs milliseconds for which a nonce can be used
   * @param max nonces that may be outstanding. The oldest end early, so that a flood locks nobody out for good.
   */
  constructor(state: StateStore, ttlMs: number, max: number) {
    this.#state = state
    this.#ttlMs = ttlMs
    this.#max = max
  }

  /** Loads the nonces that an earlier run issued. */
  async load(): Promise<void> {
    const found: (readonly [string, Stored])[] = []
    for await (const entry of this.#state.entries<Stored>()) found.push(entry)
    found.sort(([, one], [, other]) => one.expires - other.expires)
    for (const [value, stored] of found) this.#outstanding.set(value, stored)
    await this.#evict(this.#max)
  }

  /** @param origin the origin by which the client came. The nonce can be used by the same one only. */
  issue(origin: string): Promise<Nonce> {
    return this.#issuing.run(async () => {
      await this.#evict(this.#max - 1)
      const value = randomBytes(16).toString('hex')
      const expires = Date.now() + this.#ttlMs
      const stored: Stored = { expires, origin }
      this.#outstanding.set(value, stored)
      await this.#state.set(value, stored, this.#ttlMs)
      return { value, expires: new Date(expires) }
    })
  }

  /** Tells whether a nonce could be used now, by a client that came by the given origin. */
  async isOutstanding(value: string, origin: string): Promise<boolean> {
    // Another process may have issued it.
    const stored = this.#outstanding.get(value) ?? (await this.#state.get<Stored>(value))
    return stored !== undefined && stored.expires > Date.now() && stored.origin === origin
  }

  /** Uses a nonce. Of several calls with the same nonce, exactly one returns `true`. */
  async consume(value: string, origin: string): Promise<boolean> {
    // The state's `delete` would also return `true` for an expired row, and for one of another origin.
    if (!(await this.isOutstanding(value, origin))) return false
    this.#outstanding.delete(value)
    return this.#state.delete(value)
  }

  /** Drops expired nonces, whose rows the state removes itself, and ends the oldest ones beyond a number. */
  async #evict(max: number): Promise<void> {
    const ended: Promise<boolean>[] = []
    const now = Date.now()
    for (const [value, { expires }] of this.#outstanding) {
      const isExpired = expires <= now
      if (!isExpired && this.#outstanding.size <= max) break
      this.#outstanding.delete(value)
      if (!isExpired) ended.push(this.#state.delete(value))
    }
    await Promise.all(ended)
  }
}
