import { InFlight } from './in-flight.ts'
import { untilAborted } from './until-aborted.ts'

/**
 * Lets changes run at the same time, except while a snapshot needs everything to stay as it is. {@link createStorageBackend}
 * runs the changes of a driver in one. A driver with `prepareSnapshot` runs them in one of its own.
 *
 * @example
 * remove(path) {
 *   return this.#gate.runShared(() => this.#remove(path))
 * }
 */
export class ChangeGate {
  readonly #running = new InFlight<Promise<unknown>>()
  #exclusive: Promise<void> | null = null

  /**
   * Begins a change. It waits while exclusive work runs or waits.
   *
   * @returns a function that ends the change. Call it in any case
   */
  async enter(): Promise<() => void> {
    while (this.#exclusive !== null) await this.#exclusive
    const { promise: running, resolve: end } = Promise.withResolvers<void>()
    this.#running.add(running)
    return () => {
      this.#running.delete(running)
      end()
    }
  }

  /** Runs a change. It waits while exclusive work runs or waits. */
  async runShared<T>(change: () => Promise<T>): Promise<T> {
    const leave = await this.enter()
    try {
      return await change()
    } finally {
      leave()
    }
  }

  /**
   * Runs work while no change runs. It waits for the running changes, and new changes wait for it.
   *
   * @param signal ends the wait for the running changes; the work then does not run
   * @throws the signal's reason, or the error of the work
   */
  async runExclusive<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#exclusive !== null) await untilAborted(this.#exclusive, signal)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#exclusive = ended
    try {
      while (this.#running.size > 0) await untilAborted(Promise.allSettled(this.#running), signal)
      signal.throwIfAborted()
      return await work()
    } finally {
      this.#exclusive = null
      end()
    }
  }
}
