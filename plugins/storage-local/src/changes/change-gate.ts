/** Lets changes run at the same time, except while a snapshot needs the tree to stay as it is. */
export class ChangeGate {
  readonly #running = new Set<Promise<unknown>>()
  #exclusive: Promise<void> | null = null

  /** Runs a change. It waits while exclusive work runs or waits. */
  async runShared<T>(change: () => Promise<T>): Promise<T> {
    while (this.#exclusive !== null) await this.#exclusive
    const running = change().finally(() => this.#running.delete(running))
    this.#running.add(running)
    return running
  }

  /** Runs work while no change runs. It waits for the running changes, and new changes wait for it. */
  async runExclusive<T>(work: () => Promise<T>): Promise<T> {
    while (this.#exclusive !== null) await this.#exclusive
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#exclusive = ended
    try {
      while (this.#running.size > 0) await Promise.allSettled(this.#running)
      return await work()
    } finally {
      this.#exclusive = null
      end()
    }
  }
}
