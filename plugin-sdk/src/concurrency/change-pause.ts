import { setTimeout as delay } from 'node:timers/promises'

/** Options of a ChangePause, in milliseconds. */
export interface ChangePauseOptions {
  /** How long nothing must have changed. */
  readonly quietMs: number
  /** How long a wait takes at most, while changes go on. */
  readonly longestMs: number
}

/**
 * Lets work in the background wait for a pause between the changes of files, so that people who upload have the processors and the
 * disk to themselves.
 *
 * @example
 * const pause = new ChangePause({ quietMs: 1000, longestMs: 10_000 })
 * events.on(FileChanged, () => pause.notice())
 * await pause.wait(signal)
 */
export class ChangePause {
  readonly #options: ChangePauseOptions
  #changedAt = Number.NEGATIVE_INFINITY

  constructor(options: ChangePauseOptions) {
    this.#options = options
  }

  /** Takes note of a change. */
  notice(): void {
    this.#changedAt = performance.now()
  }

  /**
   * Resolves in the next pause. It resolves at once if nothing has changed for long enough.
   *
   * @throws the reason of the signal
   */
  async wait(signal: AbortSignal): Promise<void> {
    const { quietMs, longestMs } = this.#options
    const end = performance.now() + longestMs
    for (;;) {
      signal.throwIfAborted()
      const ms = Math.min(this.#changedAt + quietMs, end) - performance.now()
      if (ms <= 0) return
      await delay(ms, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
