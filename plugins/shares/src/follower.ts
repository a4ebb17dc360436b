import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@nodekeep/plugin-sdk'

/** The check of a user's links takes at most one part of so many of the time, while files change all the time. */
const shareOfTime = 20

/**
 * Checks the links of a user when files of the user have changed, so that a link ends with its file or folder at once. Requests of guests check it, too:
 * this one ends what runs already, and links whose folder is restored before a guest comes.
 */
export class Follower {
  readonly #check: (userUuid: string) => Promise<void>
  readonly #log: Pick<Log, 'warn'>
  readonly #signal: AbortSignal
  /** Users who are being checked, and whether their files have changed meanwhile. */
  readonly #running = new Map<string, boolean>()

  constructor(check: (userUuid: string) => Promise<void>, log: Pick<Log, 'warn'>, signal: AbortSignal) {
    this.#check = check
    this.#log = log
    this.#signal = signal
  }

  /** Files of a user have changed. */
  notice(userUuid: string): void {
    const isRunning = this.#running.has(userUuid)
    this.#running.set(userUuid, isRunning)
    if (!isRunning) this.#run(userUuid)
  }

  async #run(userUuid: string): Promise<void> {
    try {
      for (let isStale = true; isStale; isStale = this.#running.get(userUuid) === true) {
        this.#running.set(userUuid, false)
        const begun = performance.now()
        await this.#check(userUuid)
        await delay((performance.now() - begun) * shareOfTime, undefined, {
          signal: this.#signal,
          ref: false,
        })
      }
    } catch (error) {
      if (!this.#signal.aborted)
        this.#log.warn(
          { err: error },
          'The links of a user could not be checked. The next change tries again.',
        )
    } finally {
      this.#running.delete(userUuid)
    }
  }
}
