import { type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'

/** A mount that goes and comes all the time is told of once in so many milliseconds. */
const quietMs = 60_000

/** Seconds after which a client may try again. */
const retryAfter = { 'retry-after': '30' }

/** Tells the log when a mount goes out of reach and when it is back, once each, whatever many ask for it meanwhile. */
export class Reach {
  readonly #log: Pick<Log, 'info' | 'warn'>
  /** The mounts that the log knows as out of reach. */
  readonly #lost = new Set<UserPath>()
  readonly #told = new Map<UserPath, number>()

  constructor(log: Pick<Log, 'info' | 'warn'>) {
    this.#log = log
  }

  /**
   * Takes the failure of a mount to answer.
   *
   * @returns the error to throw, of which the log knows
   */
  lost(mount: UserPath, error: NodekeepError): NodekeepError {
    if (error.logged) return error
    const told = this.#told.get(mount)
    if (!this.#lost.has(mount) && (told === undefined || performance.now() - told > quietMs)) {
      this.#lost.add(mount)
      this.#told.set(mount, performance.now())
      this.#log.warn({ err: error, mount }, 'The storage of a mount does not answer as it should.')
    }
    const headers = { ...retryAfter, ...error.headers }
    return new NodekeepError(error.code, error.message, { cause: error, headers, logged: true })
  }

  /** Takes an answer of a mount. */
  found(mount: UserPath): void {
    if (this.#lost.size === 0 || !this.#lost.delete(mount)) return
    this.#log.info({ mount }, 'The storage of a mount answers again.')
  }
}
