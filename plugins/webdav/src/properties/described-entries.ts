import { concurrently, type FileListEntry, type RoomLeft } from '@nodekeep/plugin-sdk'
import { type DavRequest, nullIfGone } from '../dav-request.ts'
import { coveringLocks, type Lock } from '../locks/locks.ts'
import {
  checksums,
  created,
  type Described,
  entityTagProperty,
  liveProperties,
  lockDiscoveryProperty,
  namesAskedBy,
  quotaAvailable,
  quotaUsed,
} from './live-properties.ts'
import type { PropertyQuery } from './property-request.ts'

/** Files that are looked up at a time. */
const statsAtOnce = 16

/** A file or folder with what its properties need, and with the properties that clients have set. */
export interface DescribedEntry extends Described {
  /** Whole elements by their names. */
  readonly dead: ReadonlyMap<string, string>
}

/** Reads what a query needs about entries, and nothing else: a listing alone tells most of it. */
export class EntryDescriber {
  readonly #dav: DavRequest
  readonly #needs: ReturnType<typeof needsOf>
  /** The ids of the entries with properties that clients have set. */
  readonly #withDead: ReadonlySet<string>
  readonly #locks: readonly Lock[]
  readonly #byPath = new Map<string, readonly Lock[]>()
  #room: Promise<RoomLeft> | null = null

  constructor(dav: DavRequest, query: PropertyQuery) {
    this.#dav = dav
    this.#withDead = new Set(dav.services.properties.entriesOf(dav.user.uuid))
    this.#needs = needsOf(query, this.#withDead.size > 0)
    this.#locks = this.#needs.locks ? dav.services.locks.of(dav.user.uuid) : []
    for (const lock of this.#locks)
      this.#byPath.set(lock.path, [...(this.#byPath.get(lock.path) ?? []), lock])
  }

  /** Describes entries of one folder. One that is gone meanwhile is left out. */
  async describe(folder: string, listed: readonly FileListEntry[]): Promise<DescribedEntry[]> {
    const { services, user, index } = this.#dav
    const entries = this.#needs.details ? await this.#withDetails(listed) : listed
    const known =
      this.#needs.dead || this.#needs.checksum
        ? await index.named(
            folder,
            entries.map(({ name }) => name),
          )
        : null
    this.#room ??= this.#needs.room ? services.files.roomAt(user, this.#dav.path) : null
    const room = await this.#room
    const inherited = coveringLocks(this.#locks, folder).filter(({ isDeep }) => isDeep)
    return entries.map((entry) => {
      const indexed = known?.get(entry.name)
      const hasHash = this.#needs.checksum && indexed !== undefined && indexed.revision === entry.revision
      const hasDead = this.#needs.dead && indexed !== undefined && this.#withDead.has(indexed.id)
      return {
        entry,
        // The root is in itself.
        locks: [...(entry.path === folder ? [] : inherited), ...(this.#byPath.get(entry.path) ?? [])],
        room,
        sha256: hasHash ? indexed.sha256 : null,
        dead: hasDead ? services.properties.of(user.uuid, indexed.id) : none,
      }
    })
  }

  async #withDetails(listed: readonly FileListEntry[]): Promise<FileListEntry[]> {
    const lacking = listed.filter(
      ({ type, revision, created }) => type === 'file' && (revision === undefined || created === undefined),
    )
    const found = new Map<FileListEntry, FileListEntry | null>()
    await concurrently(lacking, statsAtOnce, async (entry) => {
      found.set(entry, await this.#dav.files.stat(entry.path).catch(nullIfGone))
    })
    return listed.flatMap((entry) => {
      const now = found.get(entry)
      return now === null ? [] : [now ?? entry]
    })
  }
}

const none: ReadonlyMap<string, string> = new Map()

function needsOf(query: PropertyQuery, hasDead: boolean) {
  const names = namesAskedBy(query)
  const asks = (...wanted: string[]) => wanted.some((name) => names.has(name))
  return {
    details: asks(entityTagProperty, created, checksums),
    locks: asks(lockDiscoveryProperty),
    room: asks(quotaUsed, quotaAvailable),
    checksum: asks(checksums),
    dead: hasDead && (query.kind !== 'some' || [...names].some((name) => !liveProperties.has(name))),
  }
}
