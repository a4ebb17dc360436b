/**
 * Lets everybody through, except while one holds it alone.
 *
 * On a single connection, a transaction that spans several turns of the event loop would swallow what others
 * write meanwhile, and take it along when it rolls back. They wait here instead.
 */
export class Gate {
  #closed: Promise<void> | undefined

  /** Runs the work in one go, once nobody holds the gate. */
  async pass<T>(work: () => T): Promise<T> {
    while (this.#closed) await this.#closed
    return work()
  }

  /** Runs the work while nobody else passes. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    // Nothing may be awaited between the last look at the gate and its closing.
    while (this.#closed) await this.#closed
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#closed = promise
    try {
      return await work()
    } finally {
      this.#closed = undefined
      resolve()
    }
  }
}
