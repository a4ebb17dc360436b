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

  /** Runs a change. It waits while exclusive work runs or waits. */
  runShared<T>(change: () => Promise<T>): Promise<T> {
    return this.runLate(async (begin) => {
      await begin()
      return change()
    })
  }

  /**
   * Runs work that becomes a change only when it calls `begin`, and is one until its end. `begin` waits while exclusive work runs
   * or waits. Exclusive work does not wait for work that has not called it.
   */
  async runLate<T>(work: (begin: () => Promise<void>) => Promise<T>): Promise<T> {
    let begun: Promise<() => void> | undefined
    try {
      return await work(async () => {
        begun ??= this.#begin()
        await begun
      })
    } finally {
      const end = await begun
      end?.()
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

  async #begin(): Promise<() => void> {
    while (this.#exclusive !== null) await this.#exclusive
    const { promise: running, resolve: end } = Promise.withResolvers<void>()
    this.#running.add(running)
    return () => {
      this.#running.delete(running)
      end()
    }
  }
}
