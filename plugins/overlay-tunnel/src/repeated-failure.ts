import type { Log } from '@nodekeep/plugin-sdk'

/** Logs why something fails: once for each reason, and not at each attempt. */
export class RepeatedFailure {
  readonly #log: Log
  #last: string | null = null

  constructor(log: Log) {
    this.#log = log
  }

  /**
   * @param reason a sentence
   * @param retryMs the pause before the next attempt
   */
  note(reason: string, retryMs: number): void {
    if (reason === this.#last) this.#log.debug({ retryMs }, reason)
    else this.#log.warn({ retryMs }, reason)
    this.#last = reason
  }

  over(): void {
    this.#last = null
  }
}
