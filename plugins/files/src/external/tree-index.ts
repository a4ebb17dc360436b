import { DatabaseSync, type StatementSync } from 'node:sqlite'
import {
  type FileChange,
  inTransaction,
  type StorageEntry,
  type StorageListEntry,
} from '@nodekeep/plugin-sdk'
import { splitPath } from '../journal/created-dates.ts'

/** Milliseconds for which statements wait for another program that has the file locked. */
const timeoutMs = 5000

/** Milliseconds after which emptying the log is tried again that a reader held. */
const retryMs = 1000

/** The version of the tables. An index of another version is built again. */
const schemaVersion = 2

/**
 * `trees`: the files of a user on a storage, as they were after the change `seq` of the journal `epoch`. A tree that is not
 * complete lacks entries. `entries`: `revision` is null for a folder, and for a file whose revision is not known. `listed` is the
 * {@link listedState} that was found together with the revision; null where that is not known.
 */
const tables = `
  CREATE TABLE trees (
    id INTEGER PRIMARY KEY,
    storage TEXT NOT NULL,
    user TEXT NOT NULL,
    epoch TEXT NOT NULL,
    seq INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    UNIQUE (storage, user)
  ) STRICT;
  CREATE TABLE entries (
    tree INTEGER NOT NULL,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    revision TEXT,
    listed TEXT,
    PRIMARY KEY (tree, folder, name)
  ) STRICT, WITHOUT ROWID;
`

/** Everything below a folder: `0` is the character after `/`. */
const below = `tree = :tree AND folder >= :path AND folder < :path || '0' AND (folder = :path OR folder >= :path || '/')`

/** An entry as it was when the journal was written last. */
export interface IndexedEntry {
  readonly type: StorageEntry['type']
  /** `null` for a folder, and for a file whose revision is not known. */
  readonly revision: string | null
}

/** An entry of the index. */
export interface KnownEntry extends IndexedEntry {
  /** The {@link listedState} of the file; `null` where that is not known. */
  readonly listed: string | null
}

/** The state of a file by a listing without revisions. `null` for an entry with a revision, and for a folder. */
export function listedState({ type, revision, etag, size, modified }: StorageListEntry): string | null {
  return type === 'file' && revision === undefined ? `${size} ${modified.getTime()} ${etag ?? ''}` : null
}

/** The state of the files by the journal, to compare storages with it. It can be built again at any time. */
export class TreeIndex {
  readonly #connection: DatabaseSync
  #retry: NodeJS.Timeout | undefined

  /** Opens the file, or makes it. */
  constructor(file: string) {
    this.#connection = open(file)
  }

  /** The files of a user on a storage. */
  tree(storage: string, user: string): Tree {
    const insert = "INSERT OR IGNORE INTO trees (storage, user, epoch, seq, complete) VALUES (?, ?, '', 0, 0)"
    this.#connection.prepare(insert).run(storage, user)
    const select = 'SELECT id FROM trees WHERE storage = ? AND user = ?'
    return new Tree(this.#connection, Number(this.#connection.prepare(select).get(storage, user)?.id))
  }

  /** Deletes everything about a user. The freed pages are overwritten, at the latest when no snapshot holds them any more. */
  erase(user: string): void {
    const trees = 'SELECT id FROM trees WHERE user = ?'
    this.#connection.prepare(`DELETE FROM entries WHERE tree IN (${trees})`).run(user)
    this.#connection.prepare('DELETE FROM trees WHERE user = ?').run(user)
    this.#removeTraces()
  }

  close(): void {
    clearTimeout(this.#retry)
    if (this.#connection.isOpen) this.#connection.close()
  }

  /** Empties the log. It never waits for readers: that would hold up the event loop. */
  #removeTraces(): void {
    clearTimeout(this.#retry)
    this.#connection.exec('PRAGMA busy_timeout = 0')
    let isEmpty = false
    try {
      isEmpty = this.#connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
    } catch {
      // The disk failed.
    }
    this.#connection.exec(`PRAGMA busy_timeout = ${timeoutMs}`)
    if (!isEmpty) this.#retry = setTimeout(() => this.#removeTraces(), retryMs).unref()
  }
}

function open(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: timeoutMs })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
    if (found !== schemaVersion) {
      connection.exec(
        `BEGIN IMMEDIATE; DROP TABLE IF EXISTS trees; DROP TABLE IF EXISTS entries; ${tables}
         PRAGMA user_version = ${schemaVersion}; COMMIT`,
      )
    }
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** The files of a user on a storage, by their paths for the user. */
export class Tree {
  readonly #connection: DatabaseSync
  readonly #id: number
  readonly #get: StatementSync
  readonly #page: StatementSync
  readonly #set: StatementSync
  readonly #setListed: StatementSync
  readonly #delete: StatementSync
  readonly #deleteBelow: StatementSync
  readonly #move: StatementSync
  readonly #moveBelow: StatementSync
  readonly #advance: StatementSync
  #epoch: string
  #seq: number
  #isComplete: boolean

  constructor(connection: DatabaseSync, id: number) {
    this.#connection = connection
    this.#id = id
    const row = connection.prepare('SELECT epoch, seq, complete FROM trees WHERE id = ?').get(id)
    this.#epoch = String(row?.epoch)
    this.#seq = Number(row?.seq)
    this.#isComplete = row?.complete === 1
    this.#get = connection.prepare(
      'SELECT type, revision, listed FROM entries WHERE tree = ? AND folder = ? AND name = ?',
    )
    this.#page = connection.prepare(
      'SELECT name, type, revision, listed FROM entries WHERE tree = ? AND folder = ? AND name > ? ORDER BY name LIMIT ?',
    )
    this.#set = connection.prepare(
      'INSERT OR REPLACE INTO entries (tree, folder, name, type, revision) VALUES (?, ?, ?, ?, ?)',
    )
    this.#setListed = connection.prepare(
      'UPDATE entries SET listed = ? WHERE tree = ? AND folder = ? AND name = ? AND revision = ?',
    )
    this.#delete = connection.prepare('DELETE FROM entries WHERE tree = ? AND folder = ? AND name = ?')
    this.#deleteBelow = connection.prepare(`DELETE FROM entries WHERE ${below}`)
    this.#move = connection.prepare(
      'UPDATE entries SET folder = ?, name = ? WHERE tree = ? AND folder = ? AND name = ?',
    )
    this.#moveBelow = connection.prepare(
      `UPDATE entries SET folder = :destination || substr(folder, length(:path) + 1) WHERE ${below}`,
    )
    this.#advance = connection.prepare('UPDATE trees SET epoch = ?, seq = ?, complete = ? WHERE id = ?')
  }

  /** The epoch of the journal that `seq` belongs to; empty at first. */
  get epoch(): string {
    return this.#epoch
  }

  /** The tree is as it was after this change. */
  get seq(): number {
    return this.#seq
  }

  /** Whether the tree has all entries. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  get(path: string): KnownEntry | null {
    const { folder, name } = splitPath(path)
    return (this.#get.get(this.#id, folder, name) as KnownEntry | undefined) ?? null
  }

  /** The first entries of a folder after a name, by name. */
  page(folder: string, after: string, limit: number): [name: string, entry: KnownEntry][] {
    const rows = this.#page.all(this.#id, folder, after, limit)
    return rows.map((row) => [String(row.name), row as unknown as KnownEntry])
  }

  /** Removes all entries, and starts after a change of the journal. */
  restart(epoch: string, seq: number): void {
    inTransaction(this.#connection, () => {
      this.#connection.prepare('DELETE FROM entries WHERE tree = ?').run(this.#id)
      this.#moveTo(epoch, seq, false)
    })
  }

  complete(): void {
    this.#moveTo(this.#epoch, this.#seq, true)
  }

  /** Takes entries as they are, `null` for nothing. Folders above them are added. */
  put(entries: readonly (readonly [path: string, entry: IndexedEntry | null])[]): void {
    inTransaction(this.#connection, () => {
      for (const [path, entry] of entries) {
        if (entry?.type !== 'directory') this.#remove(path)
        if (entry !== null) this.#add(path, entry)
      }
    })
  }

  /** Remembers what a listing told of files. Nothing happens for a file that does not have its revision here. */
  putListed(
    files: readonly { readonly path: string; readonly revision: string; readonly listed: string }[],
  ): void {
    if (files.length === 0) return
    inTransaction(this.#connection, () => {
      for (const { path, revision, listed } of files) {
        const { folder, name } = splitPath(path)
        this.#setListed.run(listed, this.#id, folder, name, revision)
      }
    })
  }

  /**
   * Applies changes of the journal in their order.
   *
   * @param through the number of the last change, which may be one of another storage
   * @returns the destinations of moves whose source is not here
   */
  apply(changes: readonly FileChange[], through: number): string[] {
    const unknown: string[] = []
    inTransaction(this.#connection, () => {
      for (const { op, path, source, revision } of changes) {
        if (op === 'write') this.#replace(path, { type: 'file', revision: revision ?? null })
        else if (op === 'mkdir') this.#add(path, { type: 'directory', revision: null })
        else if (op === 'delete') this.#remove(path)
        else if (source !== undefined && !this.#moveEntry(source, path, revision ?? null)) unknown.push(path)
      }
      this.#moveTo(this.#epoch, through, this.#isComplete)
    })
    return unknown
  }

  #moveEntry(source: string, path: string, revision: string | null): boolean {
    const entry = this.get(source)
    this.#remove(path)
    if (entry === null) {
      if (revision !== null) this.#add(path, { type: 'file', revision })
      return revision !== null
    }
    this.#addFoldersAbove(path)
    const [from, to] = [splitPath(source), splitPath(path)]
    this.#move.run(to.folder, to.name, this.#id, from.folder, from.name)
    if (entry.type === 'file') {
      const now = revision ?? entry.revision
      if (now !== entry.revision) this.#add(path, { type: 'file', revision: now })
      return true
    }
    this.#moveBelow.run({ tree: this.#id, path: source, destination: path })
    return true
  }

  #replace(path: string, entry: IndexedEntry): void {
    this.#remove(path)
    this.#add(path, entry)
  }

  #add(path: string, { type, revision }: IndexedEntry): void {
    this.#addFoldersAbove(path)
    const { folder, name } = splitPath(path)
    this.#set.run(this.#id, folder, name, type, type === 'file' ? revision : null)
  }

  #addFoldersAbove(path: string): void {
    const { folder } = splitPath(path)
    if (folder === '/' || this.get(folder)?.type === 'directory') return
    this.#add(folder, { type: 'directory', revision: null })
  }

  #remove(path: string): void {
    const { folder, name } = splitPath(path)
    this.#delete.run(this.#id, folder, name)
    this.#deleteBelow.run({ tree: this.#id, path })
  }

  #moveTo(epoch: string, seq: number, isComplete: boolean): void {
    this.#advance.run(epoch, seq, isComplete ? 1 : 0, this.#id)
    this.#epoch = epoch
    this.#seq = seq
    this.#isComplete = isComplete
  }
}
