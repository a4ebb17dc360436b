import type { UserDirectory } from '@nodekeep/plugin-sdk'
import type { PreviewCache } from './cache/preview-cache.ts'
import type { CacheTable } from './tables/cache-table.ts'
import type { ContentTable } from './tables/content-table.ts'
import type { EntryTable } from './tables/entry-table.ts'

interface PreviewStatusServices {
  readonly users: UserDirectory
  readonly entries: EntryTable
  readonly contents: ContentTable
  readonly cached: CacheTable
  readonly cache: PreviewCache
  readonly cacheLimit: number
  /** Whether all files of a user are known. */
  readonly isFollowed: (userUuid: string) => Promise<boolean>
}

/** How far the previews of a user, or of the whole node, are. */
interface StatusOf {
  readonly waiting: number
  readonly made: number
  readonly failed: Record<string, number>
  /** Bytes of the previews that are kept. */
  readonly cacheBytes: number
  /** Most bytes of the previews of all users. */
  readonly cacheLimit: number
  readonly isComplete: boolean
}

/** Tells how far the previews are. */
export class PreviewStatus {
  readonly #services: PreviewStatusServices

  constructor(services: PreviewStatusServices) {
    this.#services = services
  }

  async ofUser(userUuid: string): Promise<StatusOf> {
    const isComplete = await this.isComplete(userUuid)
    return { ...this.#counted(userUuid, this.#services.cached.bytes(userUuid)), isComplete }
  }

  async ofNode(): Promise<StatusOf> {
    const { users, cache } = this.#services
    let isComplete = true
    for await (const { uuid } of users.list()) isComplete &&= await this.isComplete(uuid)
    return { ...this.#counted(null, cache.bytes), isComplete }
  }

  /** Whether all files of a user were looked at. */
  async isComplete(userUuid: string): Promise<boolean> {
    const { isFollowed, entries } = this.#services
    return (await isFollowed(userUuid)) && entries.countWaiting(userUuid) === 0
  }

  #counted(userUuid: string | null, cacheBytes: number): Omit<StatusOf, 'isComplete'> {
    const { entries, contents, cacheLimit } = this.#services
    const waiting = entries.countWaiting(userUuid)
    return {
      waiting,
      made: contents.countMade(userUuid),
      failed: contents.countFailed(userUuid),
      cacheBytes,
      cacheLimit,
    }
  }
}
