import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@nodekeep/plugin-sdk'

/** The check of a user's links takes at most one part of so many of the time, while files change all the time. */
const shareOfTime = 20

/** Milliseconds until it is asked again, at first and at most, whether an entry is there that the index does not know yet. */
const unknownMs = { first: 100, most: 10_000 }

/**
 * Checks the links of a user when files of the user have changed, so that a link ends with its file or folder at once. Requests of guests check it, too:
 * this one ends what runs already, and links whose folder is restored before a guest comes.
 */
export class Follower {
  readonly #check: (userUuid: string) => Promise<boolean>
  readonly #log: Pick<Log, 'warn'>
  readonly #signal: AbortSignal
  /** Users who are being checked, and whether their files have changed meanwhile. */
  readonly #running = new Map<string, boolean>()

  /** @param check resolves to whether it is known of all links of a user if their entries are there */
  constructor(check: (userUuid: string) => Promise<boolean>, log: Pick<Log, 'warn'>, signal: AbortSignal) {
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
      let nextMs = unknownMs.first
      for (let isStale = true; isStale; isStale ||= this.#running.get(userUuid) === true) {
        this.#running.set(userUuid, false)
        const begun = performance.now()
        const isKnown = await this.#check(userUuid)
        const pauseMs = isKnown ? (performance.now() - begun) * shareOfTime : nextMs
        nextMs = isKnown ? unknownMs.first : Math.min(2 * nextMs, unknownMs.most)
        await delay(pauseMs, undefined, { signal: this.#signal, ref: false })
        isStale = !isKnown
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
