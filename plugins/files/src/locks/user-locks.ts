import { PathLocks, type Release } from './path-locks.ts'

/** The locks of all users: those of one never wait for those of another. */
export class UserLocks {
  readonly #users = new Map<string, PathLocks>()

  /** Locks paths of a user. See {@link PathLocks.acquire}. */
  async acquire(userUuid: string, paths: readonly string[], signal?: AbortSignal): Promise<Release> {
    const locks = this.#of(userUuid)
    try {
      const release = await locks.acquire(paths, signal)
      return () => this.#release(userUuid, locks, release)
    } catch (error) {
      this.#release(userUuid, locks)
      throw error
    }
  }

  /** The same without a wait. See {@link PathLocks.tryAcquire}. */
  tryAcquire(userUuid: string, paths: readonly string[]): Release | null {
    const locks = this.#of(userUuid)
    const release = locks.tryAcquire(paths)
    return release && (() => this.#release(userUuid, locks, release))
  }

  #of(userUuid: string): PathLocks {
    let locks = this.#users.get(userUuid)
    if (locks === undefined) {
      locks = new PathLocks()
      this.#users.set(userUuid, locks)
    }
    return locks
  }

  #release(userUuid: string, locks: PathLocks, release?: Release): void {
    release?.()
    if (locks.isFree && this.#users.get(userUuid) === locks) this.#users.delete(userUuid)
  }
}
