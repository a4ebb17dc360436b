import { InFlight } from './in-flight.ts'
import { untilAborted } from './until-aborted.ts'

/**
 * Lets changes run at the same time, except while a snapshot needs everything to stay as it is. {@link createStorageBackend}
 * runs the changes of a driver with `snapshot` in one. A driver with `prepareSnapshot` runs them in one of its own.
 *
 * @example
 * remove(path) {
 *   return this.#gate.runShared(() => this.#remove(path))
 * }
 */
export class ChangeGate {
  readonly #running = new InFlight<Promise<unknown>>()
  #halt: Promise<void> | null = null

  /** Runs a change. It waits while changes are halted, or are to be halted. */
  runShared<T>(change: () => Promise<T>): Promise<T> {
    return this.runLate(async (begin) => {
      await begin()
      return change()
    })
  }

  /**
   * Runs work that becomes a change only when it calls `begin`, and is one until its end. `begin` waits while changes are halted,
   * or are to be halted. A halt does not wait for work that has not called it.
   */
  async runLate<T>(work: (begin: () => Promise<void>) => Promise<T>): Promise<T> {
    let begun: Promise<Disposable> | undefined
    try {
      return await work(async () => {
        begun ??= this.begin()
        await begun
      })
    } finally {
      const change = await begun
      change?.[Symbol.dispose]()
    }
  }

  /**
   * Begins a change that ends when it is disposed. It waits while changes are halted, or are to be halted.
   *
   * @param signal ends the wait; the change then does not begin
   * @throws the signal's reason
   */
  async begin(signal?: AbortSignal): Promise<Disposable> {
    while (this.#halt !== null) await (signal ? untilAborted(this.#halt, signal) : this.#halt)
    signal?.throwIfAborted()
    const { promise: running, resolve: end } = Promise.withResolvers<void>()
    this.#running.add(running)
    return {
      [Symbol.dispose]: () => {
        this.#running.delete(running)
        end()
      },
    }
  }

  /**
   * Halts changes: waits for the running ones, and new ones wait until the halt is disposed. One halt waits for another.
   *
   * @param signal ends the wait; changes then go on
   * @throws the signal's reason
   */
  async halt(signal: AbortSignal): Promise<Disposable> {
    while (this.#halt !== null) await untilAborted(this.#halt, signal)
    const { promise: halted, resolve } = Promise.withResolvers<void>()
    this.#halt = halted
    const end = () => {
      if (this.#halt === halted) this.#halt = null
      resolve()
    }
    try {
      while (this.#running.size > 0) await untilAborted(Promise.allSettled(this.#running), signal)
      signal.throwIfAborted()
      return { [Symbol.dispose]: end }
    } catch (error) {
      end()
      throw error
    }
  }
}
