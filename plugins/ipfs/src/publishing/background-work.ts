import type { Log } from '@nodekeep/plugin-sdk'

/** Work that nobody waits for, until the plugin stops. */
export class BackgroundWork {
  readonly #log: Pick<Log, 'warn'>
  readonly #signal: AbortSignal
  readonly #running = new Set<Promise<void>>()

  /** @param signal aborted when the plugin stops */
  constructor(log: Pick<Log, 'warn'>, signal: AbortSignal) {
    this.#log = log
    this.#signal = signal
  }

  run(work: () => Promise<void>): void {
    const running = work()
      .catch((error) => {
        if (!this.#signal.aborted)
          this.#log.warn({ err: error }, 'Publications are brought in order at the next start.')
      })
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Resolves when all of it has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running)
  }
}
