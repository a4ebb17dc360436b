/**
 * Hears of aborted signals for those who wait, with one listener for each signal however many wait on it: a signal
 * often stands for a connection, on which one call follows the other, and a listener takes longer than a place in a set.
 */
export class Aborts<T> {
  readonly #waiting = new WeakMap<AbortSignal, Set<T>>()
  readonly #onAbort: (waiting: T, reason: unknown) => void

  /** @param onAbort is called for each who waits when their signal is aborted */
  constructor(onAbort: (waiting: T, reason: unknown) => void) {
    this.#onAbort = onAbort
  }

  add(signal: AbortSignal, waiting: T): void {
    const known = this.#waiting.get(signal)
    if (known !== undefined) {
      known.add(waiting)
      return
    }
    const all = new Set([waiting])
    this.#waiting.set(signal, all)
    const abort = () => {
      for (const each of all) this.#onAbort(each, signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
  }

  delete(signal: AbortSignal, waiting: T): void {
    this.#waiting.get(signal)?.delete(waiting)
  }
}
