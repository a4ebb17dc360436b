/** A door for one at a time, which others can wait for without going through. */
export class Gate {
  #closed: Promise<void> | undefined

  /** Settles when whoever holds it now lets go; `undefined` while nobody does. */
  get held(): Promise<void> | undefined {
    return this.#closed
  }

  /** Runs the work while nobody else holds the gate. */
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
