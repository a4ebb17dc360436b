import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type FileContentHash,
  type FileIndex,
  type FindOptions,
  type FolderUsage,
  type HashOptions,
  type IndexedEntry,
  NodekeepError,
  type UserFileIndex,
  type WantedFiles,
} from '@nodekeep/plugin-sdk'
import type { EntryReader, StampedEntry, TreeState } from './entries/entry-reader.ts'
import type { KnownEntry } from './entries/known-entry.ts'
import type { ExternalScans } from './external/external-scans.ts'
import type { FileHashes } from './hashing/file-hashes.ts'
import type { Journal } from './journal/journal.ts'
import type { Mounts } from './mounts/mounts.ts'
import { checkSha256 } from './operations/check-sha256.ts'
import { childOf, isWithin, type UserPath, userPath } from './paths/user-path.ts'

/** Rows that are read in one turn of the event loop. */
const pageSize = 1000

/** The largest folders that an answer names. */
const mostFolders = 100

/** Files that are named for one content. */
const mostPlaces = 100

/** The most entries of a page. */
const mostEntries = 1000

interface FileIndexServices {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly hashes: FileHashes
  readonly scans: Pick<ExternalScans, 'notice'>
}

/** A tree of a user, with its mount. */
interface MountedTree extends TreeState {
  readonly mount: UserPath
}

/** Answers questions about all files by the index. */
export function createFileIndex(services: FileIndexServices): FileIndex {
  const { journal, mounts } = services
  return {
    for: ({ uuid }) => new OneUsersIndex(services, uuid),
    async *usage() {
      const points = new Map(mounts.points.map((mount) => [mounts.storageAt(mount), mount]))
      for (let last = 0; ; await nextTurn()) {
        const page = (await journal.entriesOf('')).treesAfter(last, pageSize)
        for (const { user, storage, bytes, entries, isComplete } of page) {
          const mount = points.get(storage)
          if (mount !== undefined) yield { userUuid: user, mount, bytes, entries, isComplete }
        }
        last = page.at(-1)?.id ?? 0
        if (page.length < pageSize) return
      }
    },
  }
}

class OneUsersIndex implements UserFileIndex {
  readonly #services: FileIndexServices
  readonly #userUuid: string

  constructor(services: FileIndexServices, userUuid: string) {
    this.#services = services
    this.#userUuid = userUuid
  }

  async isComplete(): Promise<boolean> {
    const reader = await this.#reader()
    const { mounts, scans } = this.#services
    const isComplete = mounts.points.every((mount) => this.#tree(reader, mount)?.isComplete === true)
    // Nothing has come to a new user that would have completed it.
    if (!isComplete) scans.notice(this.#userUuid)
    return isComplete
  }

  async usage(path = '/'): Promise<FolderUsage> {
    const { mounts } = this.#services
    const folder = userPath(path)
    const reader = await this.#reader()
    const found = reader.folderAt(this.#userUuid, folder)
    if (found === null && !mounts.holdsMount(folder))
      throw new NodekeepError('NOT_FOUND', `There is no folder "${folder}" in the index.`)
    const inside = mounts.points.filter((mount) => mount !== folder && isWithin(mount, folder))
    const mounted = inside.map((mount) => {
      const { size = 0, below = 0 } = reader.folderAt(this.#userUuid, mount) ?? {}
      return { path: mount, name: mount.slice(mount.lastIndexOf('/') + 1), size, below }
    })
    const folders = (found === null ? [] : reader.largestIn(found, mostFolders)).map((entry) => {
      const { name, size, below } = entry
      return { path: childOf(folder, name), name, size, below }
    })
    const hidden = new Set(inside)
    const largest = [...folders.filter((one) => !hidden.has(one.path)), ...mounted]
    const sum = (key: 'size' | 'below') =>
      mounted.reduce((total, one) => total + one[key], found === null ? 0 : found[key])
    return {
      path: folder,
      bytes: sum('size'),
      entries: sum('below') + mounted.length,
      isComplete: [mounts.pointOf(folder), ...inside].every(
        (mount) => this.#tree(reader, mount)?.isComplete === true,
      ),
      folders: largest.sort((a, b) => b.size - a.size).slice(0, mostFolders),
    }
  }

  async find(text: string, { limit = 100, after, signal }: FindOptions = {}) {
    const wanted = folded(text)
    const entries: IndexedEntry[] = []
    checkLimit(limit)
    let before = after === undefined ? Number.MAX_SAFE_INTEGER : stampIn(after)
    for (;;) {
      signal?.throwIfAborted()
      const reader = await this.#reader()
      const page = this.#merged(reader, (tree) => reader.changedBefore(tree, before, pageSize), -1)
      for (const entry of page.slice(0, pageSize)) {
        before = entry.stamp
        if (!folded(entry.name).includes(wanted)) continue
        const found = this.#placed(reader, entry, entry.tree)
        if (found !== null) entries.push(found)
        if (entries.length === limit) return { entries, next: String(before) }
      }
      if (page.length === 0) return { entries, next: null }
      await nextTurn()
    }
  }

  async changed(cursor: string, limit = mostEntries) {
    checkLimit(limit)
    const reader = await this.#reader()
    // The trees belong to it: entries of a disk that is mounted again have the stamps that they had.
    const index = [reader.indexId(), ...this.#trees(reader).map(({ id }) => id)].join('-')
    const [id, stamp] = cursor.split('.')
    const after = id === index ? stampIn(stamp ?? '') : 0
    const page = this.#merged(reader, (tree) => reader.changedAfter(tree, after, limit), 1).slice(0, limit)
    const entries = page.flatMap((entry) => this.#placed(reader, entry, entry.tree) ?? [])
    await nextTurn()
    return { entries, cursor: `${index}.${page.at(-1)?.stamp ?? after}` }
  }

  async entry(id: string): Promise<IndexedEntry | null> {
    const reader = await this.#reader()
    const found = /^\d{1,16}$/.test(id) ? reader.ofId(Number(id)) : null
    const tree = this.#trees(reader).find((one) => one.id === found?.tree)
    return found === null || tree === undefined ? null : this.#placed(reader, found, tree)
  }

  async at(path: string): Promise<IndexedEntry | null> {
    const wanted = userPath(path)
    const reader = await this.#reader()
    const point = this.#services.mounts.pointOf(wanted)
    const tree = this.#tree(reader, point)
    const found = reader.at(this.#userUuid, wanted)
    return found === null || tree === null ? null : this.#placed(reader, found, { ...tree, mount: point })
  }

  async withContent(sha256: string): Promise<IndexedEntry[]> {
    const reader = await this.#reader()
    return this.#trees(reader).flatMap((tree) =>
      reader.withContent(tree, sha256, mostPlaces).flatMap((one) => this.#placed(reader, one, tree) ?? []),
    )
  }

  async *matching({ sizes, names }: WantedFiles, signal?: AbortSignal): AsyncIterable<IndexedEntry> {
    for (let after = 0; ; await nextTurn()) {
      signal?.throwIfAborted()
      const reader = await this.#reader()
      const page = this.#merged(reader, (tree) => reader.changedAfter(tree, after, pageSize), 1)
      for (const entry of page.slice(0, pageSize)) {
        after = entry.stamp
        if (entry.type !== 'file') continue
        if (!sizes.has(entry.size) && !names.has(entry.name.normalize('NFC'))) continue
        const found = this.#placed(reader, entry, entry.tree)
        if (found !== null) yield found
      }
      if (page.length === 0) return
    }
  }

  async named(folder: string, names: readonly string[]): Promise<ReadonlyMap<string, IndexedEntry>> {
    const path = userPath(folder)
    checkLimit(Math.max(names.length, 1))
    const reader = await this.#reader()
    const mount = this.#services.mounts.pointOf(path)
    const parent = reader.folderAt(this.#userUuid, path)
    const found = new Map<string, IndexedEntry>()
    if (parent === null) return found
    for (const name of names) {
      const entry = reader.childOf(parent.id, name)
      const place = childOf(path, name)
      if (entry !== null && this.#services.mounts.pointOf(place) === mount)
        found.set(name, indexedEntry(entry, place))
    }
    return found
  }

  async hash(path: string, options: HashOptions = {}) {
    return this.#services.hashes.hash(this.#userUuid, userPath(path), options)
  }

  async setHash(path: string, hash: FileContentHash): Promise<void> {
    checkSha256(hash.sha256)
    await this.#services.hashes.set(this.#userUuid, userPath(path), hash)
  }

  /** The pages of all trees as one, in the order of their stamps or the opposite. */
  #merged(
    reader: EntryReader,
    pageOf: (tree: TreeState) => StampedEntry[],
    direction: 1 | -1,
  ): (StampedEntry & { readonly tree: MountedTree })[] {
    const pages = this.#trees(reader).map((tree) => pageOf(tree).map((entry) => ({ ...entry, tree })))
    return pages.length === 1
      ? (pages[0] ?? [])
      : pages.flat().sort((a, b) => direction * (a.stamp - b.stamp))
  }

  /** An entry with its path; null if it is removed, or hidden by a mount. */
  #placed(reader: EntryReader, entry: KnownEntry, tree: MountedTree): IndexedEntry | null {
    const names = reader.namesOf(entry.id)
    if (names === null || names.length === 0) return null
    const path = names.reduce(childOf, tree.mount)
    if (this.#services.mounts.pointOf(path) !== tree.mount) return null
    return indexedEntry(entry, path)
  }

  #trees(reader: EntryReader): MountedTree[] {
    return this.#services.mounts.points.flatMap((mount) => {
      const tree = this.#tree(reader, mount)
      return tree === null ? [] : [{ ...tree, mount }]
    })
  }

  #tree(reader: EntryReader, mount: UserPath): TreeState | null {
    return reader.tree(this.#userUuid, this.#services.mounts.storageAt(mount))
  }

  /** The reader, after the outcomes of the user's changes are in the index. */
  #reader(): Promise<EntryReader> {
    return this.#services.journal.entriesOf(this.#userUuid)
  }
}

function indexedEntry(entry: KnownEntry, path: UserPath): IndexedEntry {
  const { id, name, type, size, below, revision, modified, sha256 } = entry
  const date = modified === null ? null : new Date(modified)
  return { id: String(id), path, name, type, size, below, revision, modified: date, sha256 }
}

/** A text without case and accents. */
function folded(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

function stampIn(text: string): number {
  const stamp = Number(text)
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(stamp)) return stamp
  throw new NodekeepError('VALIDATION_ERROR', 'The cursor is none of this index. Begin without one.')
}

function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= mostEntries) return
  throw new NodekeepError('VALIDATION_ERROR', `The limit must be a whole number from 1 to ${mostEntries}.`)
}
