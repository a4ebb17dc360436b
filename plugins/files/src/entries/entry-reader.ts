import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type CreatedDate, createdIf, type DatedFile } from './created-date.ts'
import { type IndexedMounts, indexPath, keptRoots } from './entry-tables.ts'
import type { KnownEntry } from './known-entry.ts'

/** The state of the files of a user on a storage. */
export interface TreeState {
  readonly id: number
  readonly root: number
  /** The folder of what is kept of them; 0 if there is none. */
  readonly keptRoot: number
  /** Whether the index has all entries. */
  readonly isComplete: boolean
  /** When all of it was compared with the storage last, in milliseconds since 1970; 0 for never. */
  readonly comparedAt: number
}

/** The room that the files of a user take on a storage. */
interface TreeUsage {
  readonly id: number
  readonly user: string
  readonly storage: string
  readonly isComplete: boolean
  readonly bytes: number
  readonly entries: number
}

/** An entry with the number of its last change in the index. */
export interface StampedEntry extends KnownEntry {
  readonly stamp: number
}

const columns =
  'id, name, type, size, below, revision, modified, created, iif(sha256 IS NULL, NULL, lower(hex(sha256))) AS sha256, listed'

/** Places of a revision that are named. */
const mostPlaces = 8

/** Entries with a revision or a content that are looked at. Those that are kept have no place. */
const mostLookedAt = 1000

/** Reads the index. */
export class EntryReader {
  readonly #mounts: IndexedMounts
  readonly #tree: StatementSync
  readonly #child: StatementSync
  readonly #entry: StatementSync
  readonly #page: StatementSync
  readonly #createdIn: StatementSync
  readonly #ofRevision: StatementSync
  readonly #above: StatementSync
  readonly #ofId: StatementSync
  readonly #largest: StatementSync
  readonly #changed: StatementSync
  readonly #before: StatementSync
  readonly #ofSha256: StatementSync
  readonly #trees: StatementSync
  readonly #indexId: StatementSync
  readonly #users: StatementSync
  readonly #taken: StatementSync

  constructor(connection: DatabaseSync, mounts: IndexedMounts) {
    this.#mounts = mounts
    this.#tree = connection.prepare(
      `SELECT trees.id, root, kept_root, complete, compared FROM trees
       JOIN storages ON storages.name = trees.storage AND storages.id = trees.storage_id
       WHERE trees.user = ? AND trees.storage = ?`,
    )
    this.#child = connection.prepare('SELECT id FROM entries WHERE parent = ? AND name = ?')
    this.#entry = connection.prepare(`SELECT ${columns} FROM entries WHERE id = ?`)
    this.#page = connection.prepare(
      `SELECT ${columns} FROM entries WHERE parent = ? AND name > ? ORDER BY name LIMIT ?`,
    )
    this.#createdIn = connection.prepare(
      'SELECT name, revision, size, modified, created FROM entries WHERE parent = ? AND created IS NOT NULL LIMIT ?',
    )
    this.#ofRevision = connection.prepare('SELECT id FROM entries WHERE revision = ? AND tree = ?')
    this.#above = connection.prepare(
      `WITH RECURSIVE above (id, parent, name, level) AS (
         SELECT id, parent, name, 0 FROM entries WHERE id = ?
         UNION ALL SELECT e.id, e.parent, e.name, level + 1 FROM entries e JOIN above ON e.id = above.parent)
       SELECT parent, name FROM above ORDER BY level DESC`,
    )
    this.#ofId = connection.prepare(`SELECT ${columns}, tree FROM entries WHERE id = ?`)
    this.#largest = connection.prepare(
      `SELECT ${columns} FROM entries WHERE parent = ? AND type = 'directory' ORDER BY size DESC, name LIMIT ?`,
    )
    const ofTree = `SELECT ${columns}, stamp FROM entries WHERE tree = ? AND parent IS NOT NULL`
    this.#changed = connection.prepare(`${ofTree} AND stamp > ? ORDER BY stamp LIMIT ?`)
    this.#before = connection.prepare(`${ofTree} AND stamp < ? ORDER BY stamp DESC LIMIT ?`)
    this.#ofSha256 = connection.prepare(`SELECT ${columns} FROM entries WHERE sha256 = ? AND tree = ?`)
    this.#trees = connection.prepare(
      `SELECT trees.id, trees.user, trees.storage, complete, entries.size, entries.below FROM trees
       JOIN storages ON storages.name = trees.storage AND storages.id = trees.storage_id
       JOIN entries ON entries.id = trees.root WHERE trees.id > ? ORDER BY trees.id LIMIT ?`,
    )
    this.#indexId = connection.prepare('SELECT id FROM index_state')
    this.#users = connection.prepare('SELECT DISTINCT user FROM trees')
    // One statement sees one moment: a change is either pending or in the index.
    this.#taken = connection.prepare(
      `SELECT trees.storage, entries.size FROM trees
       JOIN storages ON storages.name = trees.storage AND storages.id = trees.storage_id
       JOIN entries ON entries.id IN (trees.root, trees.kept_root) WHERE trees.user = :user
       UNION ALL SELECT NULL, total(size) FROM changes
       WHERE user = :user AND pending = 1 AND op = 'write' AND staging IS NULL`,
    )
  }

  /** Names the index. One that was made anew has another name. */
  indexId(): string {
    return String(this.#indexId.get()?.id)
  }

  /** The users who have trees. */
  users(): string[] {
    return this.#users.all().map(({ user }) => String(user))
  }

  /** The trees of all users as their backends have them now, after an id. */
  treesAfter(id: number, limit: number): TreeUsage[] {
    return this.#trees.all(id, limit).map(({ id, user, storage, complete, size, below }) => ({
      id: Number(id),
      user: String(user),
      storage: String(storage),
      isComplete: complete === 1,
      bytes: Number(size),
      entries: Number(below),
    }))
  }

  /**
   * The bytes that a user takes on the storages of all mounts: of all files, of what is kept, and of files that changes write whose outcome is open. A copy
   * counts when it is placed.
   */
  takenBy(user: string): number {
    const isMounted = (storage: unknown) => this.#mounts.some(([, name]) => name === storage)
    const rows = this.#taken.all({ user })
    return rows.reduce((sum, { storage, size }) => {
      return storage === null || isMounted(storage) ? sum + Number(size) : sum
    }, 0)
  }

  /** The files of a user on a storage, as its backend has it now; null if the index has none of them. */
  tree(user: string, storage: string): TreeState | null {
    const row = this.#tree.get(user, storage)
    if (row === undefined) return null
    const { id, root, kept_root: keptRoot, complete, compared } = row
    return {
      id: Number(id),
      root: Number(root),
      keptRoot: Number(keptRoot),
      isComplete: complete === 1,
      comparedAt: Number(compared),
    }
  }

  /** The entry at a path of a user; null for the root of a storage. */
  at(user: string, path: string): KnownEntry | null {
    const id = this.#idAt(user, path)
    return id === null ? null : this.#entryOf(id)
  }

  /** The entry of the folder with an id that has a name. */
  childOf(folder: number, name: string): KnownEntry | null {
    const id = this.#child.get(folder, name)?.id
    return id === undefined ? null : this.#entryOf(Number(id))
  }

  /** The entry at names below a root. */
  below(root: number, names: readonly string[]): KnownEntry | null {
    const id = this.#idBelow(root, names)
    return id === null ? null : this.#entryOf(id)
  }

  /** The first entries of a folder below a root after a name, by name. */
  pageBelow(root: number, folder: readonly string[], after: string, limit: number): KnownEntry[] {
    const id = this.#idBelow(root, folder)
    return id === null ? [] : this.page(id, after, limit)
  }

  /** The first entries of the folder with an id after a name, by name. */
  page(folder: number, after: string, limit: number): KnownEntry[] {
    return this.#page.all(folder, after, limit) as unknown as KnownEntry[]
  }

  /** When a file was created; null where its storage knows it. */
  createdOf(user: string, path: string, file: DatedFile): Date | null {
    return createdIf(this.at(user, path), file)
  }

  /** Such dates for the entries of a folder, by name; null for more than a number. */
  createdIn(user: string, folder: string, most: number): ReadonlyMap<string, CreatedDate> | null {
    const id = this.#idAt(user, folder)
    if (id === null) return new Map()
    const rows = this.#createdIn.all(id, most + 1) as unknown as (CreatedDate & { readonly name: string })[]
    if (rows.length > most) return null
    return new Map(rows.map(({ name, ...date }) => [name, date]))
  }

  /** The names, from the root of the storage on, of some files of a tree with a revision. */
  placesOf(tree: TreeState, revision: string): string[][] {
    const found = this.#ofRevision.iterate(revision, tree.id).take(mostLookedAt)
    const places = found.map(({ id }) => this.namesOf(Number(id))).filter((names) => names !== null)
    return [...places.take(mostPlaces)]
  }

  /** The folder at a path, also the root of a storage; null if it is none. */
  folderAt(user: string, path: string): KnownEntry | null {
    const id = this.#idAt(user, path)
    const entry = id === null ? null : this.#entryOf(id)
    return entry?.type === 'directory' ? entry : null
  }

  /** The largest folders in a folder. */
  largestIn(folder: KnownEntry, limit: number): KnownEntry[] {
    return this.#largest.all(folder.id, limit) as unknown as KnownEntry[]
  }

  /** The entry with an id, and the id of its tree. */
  ofId(id: number): (KnownEntry & { readonly tree: number }) | null {
    return (this.#ofId.get(id) as (KnownEntry & { readonly tree: number }) | undefined) ?? null
  }

  /** The first entries of a tree that changed after a stamp, in the order of their last change. */
  changedAfter(tree: TreeState, stamp: number, limit: number): StampedEntry[] {
    return this.#changed.all(tree.id, stamp, limit) as unknown as StampedEntry[]
  }

  /** The last entries of a tree that changed before a stamp, in the opposite order of their last change. */
  changedBefore(tree: TreeState, stamp: number, limit: number): StampedEntry[] {
    return this.#before.all(tree.id, stamp, limit) as unknown as StampedEntry[]
  }

  /** Files of a tree with a content. */
  withContent(tree: TreeState, sha256: string, limit: number): KnownEntry[] {
    const found = this.#ofSha256.iterate(Buffer.from(sha256, 'hex'), tree.id).take(mostLookedAt)
    return [
      ...found.filter(({ id }) => this.namesOf(Number(id)) !== null).take(limit),
    ] as unknown as KnownEntry[]
  }

  /** The names of an entry, from the root of the storage on; null if it is removed or kept. */
  namesOf(id: number): string[] | null {
    const place = this.placeOf(id)
    return place === null || place.isKept ? null : [...place.names]
  }

  /** The names of a file or of something in a kept folder: see {@link namesOf}. Those of kept ones begin in the folder of kept files. */
  placeOf(id: number): { readonly isKept: boolean; readonly names: readonly string[] } | null {
    const [top, ...above] = this.#above.all(id)
    const isKept = top?.parent === keptRoots
    if (top?.parent !== null && !isKept) return null
    return { isKept, names: above.map(({ name }) => String(name)) }
  }

  #idAt(user: string, path: string): number | null {
    const { storage, names } = indexPath(this.#mounts, path)
    const tree = this.tree(user, storage)
    return tree === null ? null : this.#idBelow(tree.root, names)
  }

  /** @param root 0 for one that is not made yet */
  #idBelow(root: number, names: readonly string[]): number | null {
    let id = root === 0 ? null : root
    for (const name of names) {
      if (id === null) return null
      id = (this.#child.get(id, name)?.id as number | undefined) ?? null
    }
    return id
  }

  #entryOf(id: number): KnownEntry | null {
    return (this.#entry.get(id) as KnownEntry | undefined) ?? null
  }
}
