import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { BackedUpPlace, KeptPlaceInBackup } from '../mounts/mounts.ts'
import { areClose } from './created-date.ts'
import { type IndexedMounts, indexPath, keptRoots, removed } from './entry-tables.ts'
import { KeptStatements } from './kept-statements.ts'
import type { FoundEntry, ListedFile, PlacedEntry } from './known-entry.ts'

/** Facts of a new file that the maker of a change knows. */
export interface ChangeFacts {
  /** Milliseconds since 1970. */
  readonly modified?: number
  /** The SHA-256 of its bytes, hexadecimal. */
  readonly sha256?: string
}

/** The SHA-256 of a file in a revision, hexadecimal. */
interface HashedEntry {
  /** The id of the entry. */
  readonly entry: number
  readonly revision: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
}

/** When a file was created that a restore has written. */
export type RestoredDate = BackedUpPlace & {
  readonly size: number
  readonly modified: Date
  readonly created: Date
}

/** Something kept that a restore has written: an item of the trash, or a version. */
export interface RestoredKept extends KeptPlaceInBackup {
  readonly type: 'file' | 'directory'
  /** The file of which it is a version; null for an item of the trash. */
  readonly of: BackedUpPlace | null
  /** The path that it had when it was deleted or replaced. */
  readonly path: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** JSON. */
  readonly maker: string | null
  readonly group: string | null
}

/** A change that the index takes. */
interface IndexedChange {
  readonly user: string
  readonly op: 'write' | 'mkdir' | 'delete' | 'move'
  readonly path: string
  readonly source: string | null
  readonly size: number | null
  readonly revision: string | null
  /** Milliseconds since 1970. */
  readonly created: number | null
  /** When it happened, in milliseconds since 1970. */
  readonly at: number
  /** JSON. */
  readonly maker: string | null
  readonly change_group: string | null
  readonly kept: string | null
  readonly restored: string | null
}

/** An entry that a restore has put back, with its path. */
interface RestoredEntry {
  readonly path: string
  readonly op: 'write' | 'mkdir'
  readonly size: number | null
  readonly revision: string | null
}

interface Row {
  readonly id: number
  readonly tree: number
  readonly parent: number
  readonly type: string
  readonly size: number
  readonly below: number
  readonly revision: string | null
  readonly modified: number | null
  readonly listed: string | null
}

type Sums = Pick<Row, 'size' | 'below'>

interface TreeRow {
  readonly id: number
  readonly root: number
}

interface FormerTree extends TreeRow {
  readonly kept_root: number
}

/** A place in a tree, by the names from its root on. */
interface Place {
  readonly tree: number
  readonly root: number
  readonly names: readonly string[]
}

/** The columns of a file. */
interface FileRow extends Omit<FoundEntry, 'type'> {
  readonly created: number | null
  readonly sha256: Uint8Array | null
}

const noFacts: FileRow = {
  size: 0,
  revision: null,
  modified: null,
  created: null,
  sha256: null,
  listed: null,
}

/** Entries of a folder that a restore reads at a time. */
const pageSize = 300

const noSums: Sums = { size: 0, below: 0 }

/**
 * Stamps that the first transaction after a start skips. A power cut may take the last transactions, whose stamps a follower has seen: used again, they would
 * keep changes from it. More than a power cut can take, and enough for two million starts.
 */
const skippedStamps = 2 ** 32

/** The trees of former disks that are kept for a user and a storage: one that is mounted again is compared with what it had. */
const keptTrees = 3

/** Rows that one step of an erasure deletes. */
const stepRows = 300

/**
 * The statements that keep the index. The caller has a transaction open. A change costs one row, and one for each folder that it makes,
 * whatever is below it. The folders above the changes of a transaction are written once, at its end.
 */
export class EntryStatements {
  readonly #mounts: IndexedMounts
  readonly #kept: KeptStatements
  /** Bytes and entries that are still to be added to folders, and to those above them. */
  readonly #added = new Map<number, Sums>()
  /** The last stamp; null before the first one since the start. */
  #stamp: number | null = null
  /** Whether the disk has skipped stamps since the start. */
  #isSynced = false
  readonly #skipStamps: StatementSync
  readonly #saveStamp: StatementSync
  readonly #storage: StatementSync
  readonly #setStorage: StatementSync
  readonly #nameTrees: StatementSync
  readonly #tree: StatementSync
  readonly #insertTree: StatementSync
  readonly #formerTrees: StatementSync
  readonly #deleteTree: StatementSync
  readonly #setRoot: StatementSync
  readonly #rootOf: StatementSync
  readonly #keptRoot: StatementSync
  readonly #setKeptRoot: StatementSync
  readonly #treeOwner: StatementSync
  readonly #setCompared: StatementSync
  readonly #child: StatementSync
  readonly #childId: StatementSync
  readonly #row: StatementSync
  readonly #page: StatementSync
  readonly #insert: StatementSync
  readonly #insertCopy: StatementSync
  readonly #update: StatementSync
  readonly #replaceBy: StatementSync
  readonly #setMoved: StatementSync
  readonly #setStamp: StatementSync
  readonly #place: StatementSync
  readonly #delete: StatementSync
  readonly #add: StatementSync
  readonly #setListed: StatementSync
  readonly #setSha256: StatementSync
  readonly #eraseEntries: StatementSync
  readonly #eraseTrees: StatementSync

  constructor(connection: DatabaseSync, mounts: IndexedMounts) {
    this.#mounts = mounts
    this.#kept = new KeptStatements(connection)
    this.#skipStamps = connection.prepare('UPDATE index_state SET stamp = stamp + ? RETURNING stamp')
    this.#saveStamp = connection.prepare('UPDATE index_state SET stamp = ? WHERE stamp < ?')
    this.#storage = connection.prepare('SELECT id FROM storages WHERE name = ?')
    this.#setStorage = connection.prepare('INSERT OR REPLACE INTO storages (name, id) VALUES (?, ?)')
    this.#nameTrees = connection.prepare(
      "UPDATE OR IGNORE trees SET storage_id = ?, complete = 0 WHERE storage = ? AND storage_id = ''",
    )
    this.#tree = connection.prepare(
      'SELECT id, root FROM trees WHERE user = ? AND storage = ? AND storage_id = ?',
    )
    this.#insertTree = connection.prepare(
      'INSERT INTO trees (user, storage, storage_id, root, complete, compared) VALUES (?, ?, ?, 0, 0, 0)',
    )
    this.#formerTrees = connection.prepare(
      `SELECT id, root, kept_root FROM trees WHERE user = ? AND storage = ? ORDER BY id DESC LIMIT -1 OFFSET ${keptTrees}`,
    )
    this.#deleteTree = connection.prepare('DELETE FROM trees WHERE id = ?')
    this.#setRoot = connection.prepare('UPDATE trees SET root = ? WHERE id = ?')
    this.#rootOf = connection.prepare('SELECT root FROM trees WHERE id = ?')
    this.#keptRoot = connection.prepare('SELECT kept_root FROM trees WHERE id = ?')
    this.#setKeptRoot = connection.prepare('UPDATE trees SET kept_root = ? WHERE id = ?')
    this.#treeOwner = connection.prepare('SELECT user, storage FROM trees WHERE id = ?')
    this.#setCompared = connection.prepare('UPDATE trees SET complete = 1, compared = ? WHERE id = ?')
    this.#child = connection.prepare('SELECT * FROM entries WHERE parent = ? AND name = ?')
    this.#childId = connection.prepare('SELECT id FROM entries WHERE parent = ? AND name = ?')
    // A path has up to 2,000 names, and rows as arrays are read several times as fast.
    this.#childId.setReturnArrays(true)
    this.#row = connection.prepare('SELECT * FROM entries WHERE id = ?')
    this.#insert = connection.prepare(
      `INSERT INTO entries (tree, parent, name, type, size, below, revision, modified, created, sha256, listed, stamp)
       VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertCopy = connection.prepare(
      `INSERT INTO entries (tree, parent, name, type, size, below, revision, modified, created, sha256, listed, stamp)
       SELECT tree, ?, ?, type, size, below, revision, modified, created, sha256, listed, ? FROM entries WHERE id = ?`,
    )
    this.#page = connection.prepare(
      'SELECT id, name, type, size, revision FROM entries WHERE parent = ? AND name > ? ORDER BY name LIMIT ?',
    )
    this.#update = connection.prepare(
      `UPDATE entries SET size = ?, revision = ?, modified = ?, listed = ?, stamp = ?,
       created = iif(?6, created, ?7), sha256 = iif(?6, sha256, ?8) WHERE id = ?9`,
    )
    this.#replaceBy = connection.prepare(
      `UPDATE entries SET (size, revision, modified, created, sha256, listed) =
       (SELECT size, revision, modified, created, sha256, listed FROM entries WHERE id = ?), stamp = ? WHERE id = ?`,
    )
    this.#setMoved = connection.prepare(
      `UPDATE entries SET revision = ifnull(:revision, revision), created = ifnull(:created, created),
       listed = iif(ifnull(:revision, revision) = revision, listed, NULL) WHERE id = :id`,
    )
    this.#setStamp = connection.prepare('UPDATE entries SET stamp = ? WHERE id = ?')
    this.#place = connection.prepare('UPDATE entries SET parent = ?, name = ?, stamp = ? WHERE id = ?')
    this.#delete = connection.prepare('DELETE FROM entries WHERE id = ?')
    this.#add = connection.prepare(
      'UPDATE entries SET size = size + ?, below = below + ? WHERE id = ? RETURNING parent',
    )
    this.#setListed = connection.prepare('UPDATE entries SET listed = ? WHERE id = ? AND revision = ?')
    this.#setSha256 = connection.prepare(
      `UPDATE entries SET sha256 = :sha256, revision = :revision, stamp = :stamp
       WHERE id = :entry AND type = 'file' AND (revision = :revision OR revision IS NULL AND size = :size)`,
    )
    const ofUser = 'SELECT id FROM entries WHERE tree IN (SELECT id FROM trees WHERE user = ?)'
    this.#eraseEntries = connection.prepare(`DELETE FROM entries WHERE id IN (${ofUser} LIMIT ${stepRows})`)
    this.#eraseTrees = connection.prepare('DELETE FROM trees WHERE user = ?')
  }

  /** Whether the next transaction must be synced: otherwise, stamps after two power cuts could be the same. */
  get mustSync(): boolean {
    return !this.#isSynced
  }

  /** Call it after each transaction that was written. */
  written(): void {
    this.#isSynced = this.#stamp !== null
  }

  /** Call it at the begin of each transaction: the one before may have been rolled back. */
  begin(): void {
    this.#added.clear()
  }

  /** Writes the sums of folders, and what later transactions need. Call it before the end of each transaction. */
  end(): void {
    this.#addSums()
    if (this.#stamp !== null) this.#saveStamp.run(this.#stamp, this.#stamp)
  }

  /** Takes note of the id of the stored files that a backend has now. The entries of other files stay apart. */
  setStorage(name: string, id: string): void {
    // Entries of a storage that had not told its id yet are those of its first one.
    if (id !== '') this.#nameTrees.run(id, name)
    this.#setStorage.run(name, id)
  }

  /** Takes a committed change. */
  apply(change: IndexedChange, facts: ChangeFacts = {}): void {
    const { user, op, path, source, size, revision, created, kept, restored } = change
    const place = this.#placeOf(user, path)
    if (kept !== null && op !== 'mkdir') this.#keep(place, kept, change)
    else if (op === 'delete') this.#removeAt(place)
    if (op === 'mkdir') this.#folderAt(place)
    const sha256 = facts.sha256 === undefined ? null : Buffer.from(facts.sha256, 'hex')
    const modified = facts.modified ?? null
    const file = { size: size ?? 0, revision, modified, created, sha256, listed: null }
    if (op === 'write') this.#write(place, file, restored)
    if (op === 'move' && source !== null) this.#move(this.#placeOf(user, source), place, file)
  }

  /** Takes entries as a storage has them now, `null` for nothing, by their names from the root of the tree. */
  put(tree: number, entries: readonly PlacedEntry[]): void {
    const root = this.#rootOf.get(tree)?.root
    // The user was erased.
    if (typeof root !== 'number') return
    for (const [names, entry] of entries) {
      const place = { tree, root, names }
      if (entry === null) this.#removeAt(place)
      else if (entry.type === 'directory') this.#folderAt(place)
      else {
        this.#putFile(place, { ...entry, created: null, sha256: null }, isSame)
      }
    }
  }

  /** Takes entries of the folder of kept files as a storage has them now. Items that nobody knew come to the trash. */
  putKept(tree: number, entries: readonly PlacedEntry[]): void {
    const { user, storage } = (this.#treeOwner.get(tree) ?? {}) as { user?: string; storage?: string }
    // The user was erased.
    if (user === undefined) return
    const root = this.#keptRootOf(tree)
    const point = this.#mounts.find(([, name]) => name === storage)?.[0] ?? '/'
    for (const [names, entry] of entries) {
      const place = { tree, root, names }
      const [item = ''] = names
      if (entry === null) this.#removeAt(place)
      else if (entry.type === 'directory') this.#folderAt(place)
      else this.#putFile(place, { ...entry, created: null, sha256: null }, isSame)
      const id = this.#find({ tree, root, names: [item] })?.id
      if (id === undefined || this.#kept.has(id)) continue
      const path = `${point === '/' ? '' : point}/${item}`
      this.#kept.add(id, { of: null, user, path, at: Date.now(), maker: null, change_group: null })
    }
  }

  /** Gives the versions of a file to its copy, before the file goes. */
  passVersions(user: string, from: string, to: string): void {
    const source = this.#find(this.#placeOf(user, from))
    const copy = this.#find(this.#placeOf(user, to))
    if (source?.type === 'file' && copy?.type === 'file' && source.tree === copy.tree)
      this.#kept.passOn(source.id, copy.id)
  }

  /** Takes note that the files of a kept entry are gone. */
  forgetKept(number: number): void {
    const row = this.#row.get(this.#kept.entryOf(number)) as Row | undefined
    if (row !== undefined && row.parent === this.#keptRoot.get(row.tree)?.kept_root) this.#remove(row)
  }

  /**
   * Puts back what a change restores from the trash, and lists it: folders before what is in them. Nothing is listed for an item that was
   * restored part by part.
   */
  *restoreKept(change: Omit<IndexedChange, 'op'>): Generator<RestoredEntry, undefined> {
    const { user, path, size, revision, created, restored } = change
    const place = this.#placeOf(user, path)
    const file = { ...noFacts, size: size ?? 0, revision, created }
    const kept = restored === null ? null : this.#find(this.#keptPlace(place.tree, restored))
    const there = this.#find(place)
    if (kept?.type === 'directory' && there?.type === 'directory') {
      this.#remove(kept)
      return
    }
    if (kept !== null) {
      this.#moveTo(kept, place, file)
      this.#kept.remove(kept.id)
    }
    // Nobody knew of it. After a crash, it may be there already.
    else if (there === null && revision === null) this.#folderAt(place)
    else if (there === null) this.#putFile(place, file)
    const row = this.#find(place)
    if (row === null) return
    yield restoredEntry(path, row)
    const folders = row.type === 'directory' ? [{ id: row.id, path, after: '' }] : []
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const { id, path, after } = folder
      const page = this.#page.all(id, after, pageSize) as unknown as (Row & { readonly name: string })[]
      const last = page.at(-1)
      if (page.length === pageSize && last !== undefined) folders.push({ id, path, after: last.name })
      for (const entry of page) {
        const inner = `${path}/${entry.name}`
        // Those who follow the index may have forgotten it, or have never seen it.
        this.#setStamp.run(this.#nextStamp(), entry.id)
        yield restoredEntry(inner, entry)
        if (entry.type === 'directory') folders.push({ id: entry.id, path: inner, after: '' })
      }
    }
  }

  /** Remembers what a listing told of files. Nothing happens for a file that does not have its revision any more. */
  putListed(files: readonly ListedFile[]): void {
    for (const { id, revision, listed } of files) this.#setListed.run(listed, id, revision)
  }

  /** Remembers the SHA-256 of a file, unless it does not have the revision any more. Where it is not known, the size tells. */
  putSha256({ entry, revision, size, sha256 }: HashedEntry): void {
    const bytes = Buffer.from(sha256, 'hex')
    this.#setSha256.run({ entry, revision, size, sha256: bytes, stamp: this.#nextStamp() })
  }

  /** Remembers when restored files were created. Their storage is compared before anybody trusts the entries. */
  restore(dates: readonly RestoredDate[]): void {
    for (const { size, modified, created, ...place } of dates) {
      const facts = { revision: null, listed: null, sha256: null }
      const times = { modified: modified.getTime(), created: created.getTime() }
      this.#putFile(this.#backedUpPlace(place), { size, ...times, ...facts })
    }
  }

  /**
   * Takes note of what restored kept files are, after their dates. A version comes to the trash if its file is not there. Their storage is
   * compared before anybody trusts the entries.
   */
  restoreKeptFacts(items: readonly RestoredKept[]): void {
    for (const { of, type, path, at, maker, group, ...kept } of items) {
      const place = this.#backedUpPlace(kept)
      if (this.#find(place) === null) {
        if (type === 'directory') this.#folderAt(place)
        else this.#putFile(place, noFacts)
      }
      const entry = this.#find(place)
      const file = of === null ? null : this.#find(this.#backedUpPlace(of))
      const facts = { user: kept.userUuid, path, at, maker, change_group: group }
      if (entry !== null) this.#kept.add(entry.id, { of: file?.id ?? null, ...facts })
    }
  }

  /** Takes the date of creation of a file with a revision. */
  takeCreated(user: string, path: string, revision: string, created: number): void {
    const place = this.#placeOf(user, path)
    const before = this.#find(place)
    if (before?.type === 'file' && before.revision === revision)
      this.#setMoved.run({ id: before.id, revision, created })
    else this.#putFile(place, { ...noFacts, revision, created })
  }

  /**
   * Deletes the entries of a user, step by step.
   *
   * @returns whether it was the last step
   */
  erase(user: string): boolean {
    if (this.#eraseEntries.run(user).changes === stepRows) return false
    this.#eraseTrees.run(user)
    return this.#kept.erase(user)
  }

  /** The tree of a user on a storage, as its backend has it now. It is made if there is none. */
  treeOf(user: string, storage: string): TreeRow {
    let id = this.#storage.get(storage)?.id
    if (id === undefined) {
      id = ''
      this.#setStorage.run(storage, id)
    }
    const known = this.#tree.get(user, storage, id) as TreeRow | undefined
    if (known !== undefined) return known
    for (const former of this.#formerTrees.all(user, storage)) this.#forget(former as unknown as FormerTree)
    const tree = Number(this.#insertTree.run(user, storage, id).lastInsertRowid)
    const root = this.#insertEntry(tree, null, '', 'directory', noFacts)
    this.#setRoot.run(root, tree)
    return { id: tree, root }
  }

  #forget({ id, root, kept_root }: FormerTree): void {
    this.#deleteTree.run(id)
    for (const top of [root, kept_root]) this.#place.run(removed, String(top), this.#nextStamp(), top)
  }

  /** Takes note that all of a tree was compared with its storage. */
  complete(tree: number, at: number): void {
    this.#setCompared.run(at, tree)
  }

  #placeOf(user: string, path: string): Place {
    const { storage, names } = indexPath(this.#mounts, path)
    const { id, root } = this.treeOf(user, storage)
    return { tree: id, root, names }
  }

  #find({ root, names }: Place): Row | null {
    if (names.length === 0) return null
    const { id, level } = this.#lowestOf(root, names)
    return level < names.length ? null : ((this.#row.get(id) as Row | undefined) ?? null)
  }

  /** The lowest known entry of those that names lead to from the root of a tree, and how many of the names lead to it. */
  #lowestOf(root: number, names: readonly string[]): { readonly id: number; readonly level: number } {
    let id = root
    for (const [level, name] of names.entries()) {
      const child = this.#childId.get(id, name) as unknown as [id: number] | undefined
      if (child === undefined) return { id, level }
      id = child[0]
    }
    return { id, level: names.length }
  }

  /** The id of the folder at a place. Missing folders are made; a file in the way is removed. */
  #folderAt({ tree, root, names }: Place): number {
    const lowest = this.#lowestOf(root, names)
    const row = this.#row.get(lowest.id) as Row | undefined
    const isInTheWay = row?.type === 'file'
    if (isInTheWay) this.#remove(row)
    let folder = isInTheWay ? row.parent : lowest.id
    for (const name of names.slice(isInTheWay ? lowest.level - 1 : lowest.level)) {
      const parent = folder
      folder = this.#insertEntry(tree, parent, name, 'directory', noFacts)
      this.#addAbove(parent, 0, 1)
    }
    return folder
  }

  /** @param isKept whether the date of creation and the SHA-256 of the file before are those of this one, too */
  #putFile(place: Place, file: FileRow, isKept: (before: Row, file: FileRow) => boolean = () => false): void {
    const name = place.names.at(-1)
    if (name === undefined) return
    const parent = this.#folderAt({ ...place, names: place.names.slice(0, -1) })
    const before = this.#child.get(parent, name) as Row | undefined
    if (before?.type === 'file') {
      const { size, revision, modified, listed, created, sha256 } = file
      const kept = isKept(before, file) ? 1 : 0
      const facts = [size, revision, modified, listed, this.#nextStamp(), kept, created, sha256] as const
      this.#update.run(...facts, before.id)
      this.#addAbove(parent, file.size - before.size, 0)
      return
    }
    if (before !== undefined) this.#remove(before)
    this.#insertEntry(place.tree, parent, name, 'file', file)
    this.#addAbove(parent, file.size, 1)
  }

  /** @param restored the kept name of a version whose content the file has again */
  #write(place: Place, file: FileRow, restored: string | null): void {
    const version = restored === null ? null : this.#find(this.#keptPlace(place.tree, restored))
    if (version === null) this.#putFile(place, file)
    else {
      this.#moveTo(version, place, file)
      this.#kept.remove(version.id)
    }
  }

  /** Keeps what a change deletes or replaces. */
  #keep(place: Place, kept: string, change: IndexedChange): void {
    const { user, op, path, source, size, revision } = change
    const there = this.#find(place)
    const moved = op === 'move' && source !== null ? this.#find(this.#placeOf(user, source)) : null
    if (there === null ? op !== 'delete' : there.id === moved?.id) return
    const { tree, root, names } = this.#keptPlace(place.tree, kept)
    const parent = this.#folderAt({ tree, root, names: names.slice(0, -1) })
    const name = names.at(-1) ?? ''
    const before = this.#child.get(parent, name) as Row | undefined
    const isFile = op === 'write' || (op === 'move' && (moved?.type ?? fileIf(revision)) === 'file')
    if (isFile && there?.type === 'file') {
      if (before !== undefined) this.#remove(before)
      const copy = this.#insertCopy.run(parent, name, this.#nextStamp(), there.id).lastInsertRowid
      this.#addAbove(parent, there.size, 1)
      this.#kept.add(Number(copy), { ...change, of: there.id })
      return
    }
    // The files of the folder were moved one by one.
    const isEmptied = before?.type === 'directory' && (there?.type ?? fileIf(revision)) === 'directory'
    if (before !== undefined && !isEmptied) this.#remove(before)
    if (there !== null && isEmptied) this.#remove(there)
    else if (there !== null) this.#placeAt(there, parent, name)
    else if (!isEmptied) {
      // A comparison finds what is in a folder.
      const bytes = revision === null ? 0 : (size ?? 0)
      this.#insertEntry(tree, parent, name, fileIf(revision), { ...noFacts, size: bytes, revision })
      this.#addAbove(parent, bytes, 1)
    }
    const item = this.#find({ tree, root, names: names.slice(0, 1) })
    const inside = names.slice(1).map((one) => `/${one}`)
    const top = path.endsWith(inside.join('')) ? path.slice(0, path.length - inside.join('').length) : path
    if (item !== null) this.#kept.add(item.id, { ...change, path: top, of: null })
  }

  #backedUpPlace(place: BackedUpPlace): Place {
    if ('path' in place) return this.#placeOf(place.userUuid, place.path)
    return this.#keptPlace(this.treeOf(place.userUuid, place.storage).id, place.keptName)
  }

  #keptPlace(tree: number, kept: string): Place {
    return { tree, root: this.#keptRootOf(tree), names: kept.split('/') }
  }

  /** The folder of kept files of a tree. It is made if there is none. */
  #keptRootOf(tree: number): number {
    const known = this.#keptRoot.get(tree)?.kept_root
    if (typeof known === 'number' && known !== 0) return known
    const root = this.#insertEntry(tree, keptRoots, String(tree), 'directory', noFacts)
    this.#setKeptRoot.run(root, tree)
    return root
  }

  #move(from: Place, to: Place, file: FileRow): void {
    const moved = this.#find(from)
    if (moved !== null && to.names.length > 0 && from.tree === to.tree) this.#moveTo(moved, to, file)
    else {
      // The entry was never compared. The comparison that runs takes its new place, and what is in a folder.
      if (moved !== null) this.#remove(moved)
      if (file.revision === null) this.#folderAt(to)
      else this.#putFile(to, file)
    }
  }

  #moveTo(moved: Row, to: Place, file: FileRow): void {
    const name = to.names.at(-1) ?? ''
    const parent = this.#folderAt({ ...to, names: to.names.slice(0, -1) })
    const replaced = this.#child.get(parent, name) as Row | undefined
    if (replaced?.id === moved.id) return
    if (replaced?.type === 'file' && moved.type === 'file') {
      // The file at the path stays the same one for versions, links and shares: programs often store a file by such a move.
      this.#replaceBy.run(moved.id, this.#nextStamp(), replaced.id)
      this.#kept.passOn(moved.id, replaced.id)
      this.#remove(moved)
      this.#addAbove(parent, moved.size - replaced.size, 0)
      this.#setMoved.run({ id: replaced.id, revision: file.revision, created: file.created })
      return
    }
    if (replaced !== undefined) this.#remove(replaced)
    this.#placeAt(moved, parent, name)
    if (moved.type === 'file')
      this.#setMoved.run({ id: moved.id, revision: file.revision, created: file.created })
  }

  /** Gives an entry, and all that is below it, another place in its tree. */
  #placeAt(row: Row, parent: number, name: string): void {
    const { size, below } = this.#sumsOf(row)
    this.#addAbove(row.parent, -size, -1 - below)
    this.#place.run(parent, name, this.#nextStamp(), row.id)
    this.#addAbove(parent, size, 1 + below)
  }

  #removeAt(place: Place): void {
    const row = this.#find(place)
    if (row !== null) this.#remove(row)
  }

  /** Removes an entry. What is below a folder has no path from then on, and is deleted step by step. */
  #remove(row: Row): void {
    const { id, parent } = row
    const { size, below } = this.#sumsOf(row)
    this.#addAbove(parent, -size, -1 - below)
    if (below === 0) this.#delete.run(id)
    else this.#place.run(removed, String(id), this.#nextStamp(), id)
  }

  #insertEntry(tree: number, parent: number | null, name: string, type: string, file: FileRow): number {
    const { size, revision, modified, created, sha256, listed } = file
    const facts = [size, revision, modified, created, sha256, listed] as const
    return Number(this.#insert.run(tree, parent, name, type, ...facts, this.#nextStamp()).lastInsertRowid)
  }

  #addAbove(folder: number, size: number, below: number): void {
    const { size: addedSize, below: addedBelow } = this.#added.get(folder) ?? noSums
    this.#added.set(folder, { size: addedSize + size, below: addedBelow + below })
  }

  /** Each change by itself would write all folders above it: 100 changes in a folder of 2,000 levels would take seconds. */
  #addSums(): void {
    const folders = [...this.#added.keys()]
    // A folder comes after the one above it when both are new: the last is added first, and both go up together.
    for (let id = folders.pop(); id !== undefined; id = folders.pop()) {
      const { size, below } = this.#added.get(id) ?? noSums
      this.#added.delete(id)
      if (size === 0 && below === 0) continue
      const parent = this.#add.get(size, below, id)?.parent
      if (typeof parent !== 'number' || parent <= removed) continue
      if (!this.#added.has(parent)) folders.push(parent)
      this.#addAbove(parent, size, below)
    }
  }

  #sumsOf(row: Row): Sums {
    if (row.type === 'file') return row
    this.#addSums()
    return (this.#row.get(row.id) as Sums | undefined) ?? noSums
  }

  #nextStamp(): number {
    this.#stamp ??= Number(this.#skipStamps.get(skippedStamps)?.stamp)
    this.#stamp += 1
    return this.#stamp
  }
}

/** Whether a storage shows the file that is known. After a restore, its revision is not known: then size and time tell. */
function isSame(before: Row, { size, revision, modified, listed }: FileRow): boolean {
  if (before.revision !== null && revision !== null) return before.revision === revision
  if (revision === null && before.listed !== null) return before.listed === listed
  return before.size === size && areClose(before.modified, modified)
}

/** The type of an entry of which only the revision is known. */
function fileIf(revision: string | null): 'file' | 'directory' {
  return revision === null ? 'directory' : 'file'
}

function restoredEntry(
  path: string,
  { type, size, revision }: Pick<Row, 'type' | 'size' | 'revision'>,
): RestoredEntry {
  if (type === 'directory') return { path, op: 'mkdir', size: null, revision: null }
  return { path, op: 'write', size, revision }
}
