import type { FileIndex, User, UserDirectory } from '@nodekeep/plugin-sdk'
import type { Databases } from './database/databases.ts'
import type { FailureReason } from './database/entry-state.ts'
import type { IndexCounts } from './database/user-index.ts'
import type { Follower } from './indexing/follower.ts'

/** The state of the search for a user, or for all of them. */
interface SearchStatus extends IndexCounts {
  /** Whether all files that have text can be found by their words, but for those that failed. */
  readonly isComplete: boolean
}

interface StatusServices {
  readonly index: FileIndex
  readonly users: Pick<UserDirectory, 'list'>
  readonly databases: Databases
  readonly follower: Pick<Follower, 'isUpToDate'>
}

const nothing: IndexCounts = { waiting: 0, indexed: 0, failed: {}, bytes: 0 }

/** Tells the state of the search. */
export class Status {
  readonly #services: StatusServices

  constructor(services: StatusServices) {
    this.#services = services
  }

  /** The number of a user's files whose text is still to be extracted, and whether all can be found. */
  async progress({ uuid }: Pick<User, 'uuid'>): Promise<Pick<SearchStatus, 'waiting' | 'isComplete'>> {
    const { databases } = this.#services
    // First, since a look that ends meanwhile may add files that wait.
    const isFollowed = await this.#isFollowed(uuid)
    const waiting = databases.has(uuid) ? await databases.call(uuid, 'countWaiting') : 0
    return { waiting, isComplete: waiting === 0 && isFollowed }
  }

  async ofUser({ uuid }: Pick<User, 'uuid'>): Promise<SearchStatus> {
    const { databases } = this.#services
    const isFollowed = await this.#isFollowed(uuid)
    const counts = databases.has(uuid) ? await databases.call(uuid, 'counts') : nothing
    return { ...counts, isComplete: counts.waiting === 0 && isFollowed }
  }

  async ofAll(): Promise<SearchStatus> {
    let [waiting, indexed, bytes, isComplete] = [0, 0, 0, true]
    const failed: Partial<Record<FailureReason, number>> = {}
    for await (const user of this.#services.users.list()) {
      const one = await this.ofUser(user)
      waiting += one.waiting
      indexed += one.indexed
      bytes += one.bytes
      isComplete &&= one.isComplete
      for (const [reason, count] of Object.entries(one.failed) as [FailureReason, number][])
        failed[reason] = (failed[reason] ?? 0) + count
    }
    return { waiting, indexed, failed, bytes, isComplete }
  }

  async #isFollowed(uuid: string): Promise<boolean> {
    const { index, follower } = this.#services
    return follower.isUpToDate(uuid) && (await index.for({ uuid }).isComplete())
  }
}
