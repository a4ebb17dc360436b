/** A signal on which nobody has waited for so long is no longer listened to, in milliseconds. */
const keptMs = 100

/** Who waits on one signal. */
interface Waiting<T> {
  readonly all: Set<T>
  readonly abort: () => void
}

/**
 * Hears of aborted signals for those who wait. A signal often stands for a connection, on which one call follows the
 * other, and to listen for each takes longer than all else that is done here for a call. So a listener stays for a moment
 * when nobody waits any more; and no longer, since Node keeps some signals in memory for as long as they have one.
 */
export class Aborts<T> {
  readonly #signals = new Map<AbortSignal, Waiting<T>>()
  readonly #onAbort: (waiting: T, reason: unknown) => void
  #timer: NodeJS.Timeout | undefined

  /** @param onAbort is called for each who waits when their signal is aborted */
  constructor(onAbort: (waiting: T, reason: unknown) => void) {
    this.#onAbort = onAbort
  }

  add(signal: AbortSignal, waiting: T): void {
    const known = this.#signals.get(signal)
    if (known !== undefined) {
      known.all.add(waiting)
      return
    }
    const all = new Set([waiting])
    const abort = () => {
      for (const each of all) this.#onAbort(each, signal.reason)
    }
    signal.addEventListener('abort', abort)
    this.#signals.set(signal, { all, abort })
    this.#timer ??= setInterval(() => this.#tidy(), keptMs).unref()
  }

  delete(signal: AbortSignal, waiting: T): void {
    this.#signals.get(signal)?.all.delete(waiting)
  }

  #tidy(): void {
    for (const [signal, { all, abort }] of this.#signals) {
      if (all.size > 0) continue
      signal.removeEventListener('abort', abort)
      this.#signals.delete(signal)
    }
    if (this.#signals.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
