import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileIndex, Log, UserDirectory } from '@nodekeep/plugin-sdk'
import type { PreviewCache } from '../cache/preview-cache.ts'
import type { ContentTable } from '../tables/content-table.ts'
import type { EntryTable } from '../tables/entry-table.ts'

/** Milliseconds from the start to the first sweep. */
const firstMs = 5 * 60_000

/** Milliseconds between two sweeps. */
const everyMs = 24 * 60 * 60_000

/** Entries that are looked up in one turn of the event loop. */
const pageSize = 100

interface SweepsServices {
  readonly index: FileIndex
  readonly users: UserDirectory
  readonly entries: EntryTable
  readonly contents: ContentTable
  readonly cache: PreviewCache
  /** Whether all files of a user are known. */
  readonly isFollowed: (userUuid: string) => Promise<boolean>
  readonly eraseUser: (userUuid: string) => Promise<void>
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Removes what is kept of files and users that are gone, once a day. The index does not tell of removals. */
export class Sweeps {
  readonly #services: SweepsServices
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null

  constructor(services: SweepsServices) {
    this.#services = services
  }

  start(): void {
    this.#sweepIn(firstMs)
  }

  /** Ends the timer, and waits for a running sweep, after the signal. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
  }

  #sweepIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const { log, signal } = this.#services
      this.#running = this.sweep()
        .catch((error) => {
          if (!signal.aborted)
            log.warn({ err: error }, 'Previews of files that are gone cannot be removed now.')
        })
        .finally(() => signal.aborted || this.#sweepIn(everyMs))
    }, ms).unref()
  }

  async sweep(): Promise<void> {
    const { users, entries, contents, cache, isFollowed, eraseUser, signal } = this.#services
    for (const userUuid of entries.users()) {
      if ((await users.get(userUuid)) === null) {
        await eraseUser(userUuid)
        continue
      }
      // Before that, the files of an index that was made anew would seem to be gone.
      if (!(await isFollowed(userUuid))) continue
      await this.#removeGoneEntries(userUuid)
      contents.removeUnused(userUuid)
      await cache.sweep(userUuid, signal)
    }
  }

  async #removeGoneEntries(userUuid: string): Promise<void> {
    const { index, entries, signal } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    for (let ids = entries.idsAfter(userUuid, '', pageSize); ids.length > 0; ) {
      for (const id of ids) {
        const isGone = (await ofUser.entry(id)) === null
        signal.throwIfAborted()
        if (isGone) entries.forget(userUuid, id)
      }
      await nextTurn()
      ids = entries.idsAfter(userUuid, ids.at(-1) ?? '', pageSize)
    }
  }
}
