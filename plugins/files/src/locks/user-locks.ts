import { PathLocks, type Release } from './path-locks.ts'

/** The locks of all users: those of one never wait for those of another. */
export class UserLocks {
  readonly #users = new Map<string, PathLocks>()

  /** Locks paths of a user. See {@link PathLocks.acquire}. */
  async acquire(userUuid: string, paths: readonly string[], signal?: AbortSignal): Promise<Release> {
    const locks = this.#users.get(userUuid) ?? new PathLocks()
    this.#users.set(userUuid, locks)
    const forget = () => {
      if (locks.isFree && this.#users.get(userUuid) === locks) this.#users.delete(userUuid)
    }
    try {
      const release = await locks.acquire(paths, signal)
      return () => {
        release()
        forget()
      }
    } catch (error) {
      forget()
      throw error
    }
  }
}
