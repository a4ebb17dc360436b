/**
 * Lets everybody through, except while one holds it alone.
 *
 * On a single connection, a transaction that spans several turns of the event loop would swallow what others
 * write meanwhile, and take it along when it rolls back. They wait here instead.
 */
export class Gate {
  #closed: Promise<void> | undefined

  /** Resolves once nobody holds the gate. What follows in the same turn runs undisturbed. */
  async pass(): Promise<void> {
    while (this.#closed) await this.#closed
  }

  /** Runs the work while nobody else passes. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    await this.pass()
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
