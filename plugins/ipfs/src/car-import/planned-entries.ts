import type { DatabaseSync } from 'node:sqlite'
import { invalid, nameOf } from '@nodekeep/plugin-sdk'
import { CID } from 'multiformats/cid'

/** Bytes of UTF-8 in a name, and in a path. */
const longestName = 255
const longestPath = 4096

/** A file or a folder that is to be made, or an entry that was not looked at yet. */
export interface PlannedEntry {
  readonly id: number
  readonly path: string
  /** The folders above it in the CAR, and the entry. */
  readonly level: number
  readonly cid: CID
  /** Bytes of a file. */
  readonly size: number
}

/** A file or folder that was written. */
interface WrittenEntry {
  readonly path: string
  /** Null for a folder. */
  readonly revision: string | null
}

interface Row {
  readonly id: number
  readonly parent: number
  readonly name: string
  readonly level: number
  readonly cid: Uint8Array
  readonly size: number
  readonly revision: string | null
}

/**
 * The entries of an import, in the index of its spool: a small CAR can name more of them than fit into memory. A folder comes before
 * what is in it.
 */
export class PlannedEntries {
  readonly #statements
  /** The folder whose path was needed last. */
  #folder = { id: 0, path: '' }

  constructor(index: DatabaseSync) {
    index.exec(`CREATE TABLE entry (
      id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, name TEXT NOT NULL, level INTEGER NOT NULL, cid BLOB NOT NULL,
      kind TEXT, size INTEGER NOT NULL DEFAULT 0, revision TEXT, UNIQUE (parent, name)
    ) STRICT`)
    const next = (where: string) => index.prepare(`SELECT * FROM entry WHERE ${where} LIMIT 1`)
    this.#statements = {
      add: index.prepare('INSERT OR IGNORE INTO entry (parent, name, level, cid) VALUES (?, ?, ?, ?)'),
      find: index.prepare('SELECT parent, name FROM entry WHERE id = ?'),
      note: index.prepare('UPDATE entry SET kind = ?, size = ? WHERE id = ?'),
      noteRevision: index.prepare('UPDATE entry SET revision = ? WHERE id = ?'),
      next: next('id > ? ORDER BY id'),
      nextOf: next('id > ? AND kind = ? ORDER BY id'),
      nextWritten: next("id < ? AND (kind = 'folder' OR revision IS NOT NULL) ORDER BY id DESC"),
    }
  }

  /** Adds the file or folder that the root becomes. */
  addTop(path: string, cid: CID): void {
    this.#statements.add.run(0, path, 1, cid.bytes)
  }

  /** @throws NodekeepError VALIDATION_ERROR for a name that no file can have, and for one that the folder has already */
  add(folder: PlannedEntry, name: string, cid: CID): void {
    const path = childPath(folder.path, name)
    const { changes } = this.#statements.add.run(folder.id, nameOf(path), folder.level + 1, cid.bytes)
    if (changes === 0) throw invalid(`The CAR has two entries with the path ${JSON.stringify(path)}.`)
  }

  /** Says what an entry is. One of which nothing is said is not made. */
  note({ id }: PlannedEntry, kind: 'file' | 'folder', size: number): void {
    this.#statements.note.run(kind, size, id)
  }

  noteRevision({ id }: PlannedEntry, revision: string): void {
    this.#statements.noteRevision.run(revision, id)
  }

  /** Yields all entries, also those that are added meanwhile. */
  *all(): Generator<PlannedEntry> {
    yield* this.#entries((last) => this.#statements.next.get(last))
  }

  *of(kind: 'file' | 'folder'): Generator<PlannedEntry> {
    yield* this.#entries((last) => this.#statements.nextOf.get(last, kind))
  }

  /** Yields the folders, and the files with a revision, each before the folder that it is in. */
  *written(): Generator<WrittenEntry> {
    for (let last = Number.MAX_SAFE_INTEGER; ; ) {
      const row = this.#statements.nextWritten.get(last) as unknown as Row | undefined
      if (row === undefined) return
      yield { path: this.#pathOf(row), revision: row.revision }
      last = row.id
    }
  }

  *#entries(next: (last: number) => unknown): Generator<PlannedEntry> {
    for (let last = 0; ; ) {
      const row = next(last) as Row | undefined
      if (row === undefined) return
      const { id, level, cid, size } = row
      yield { id, path: this.#pathOf(row), level, cid: CID.decode(cid), size }
      last = id
    }
  }

  #pathOf({ parent, name }: Pick<Row, 'parent' | 'name'>): string {
    if (parent === 0) return name
    if (this.#folder.id !== parent) {
      const path = this.#pathOf(this.#statements.find.get(parent) as unknown as Row)
      this.#folder = { id: parent, path }
    }
    return `${this.#folder.path}/${name}`
  }
}

/**
 * Returns the path of an entry as the files have it: names that are equal in NFC are one name.
 *
 * @throws NodekeepError VALIDATION_ERROR if no file can have the name, such as because it leads out of the folder
 */
export function childPath(folder: string, name: string): string {
  const isGood =
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    // A backslash separates folders on some systems.
    !/[/\\\0]/.test(name) &&
    name.isWellFormed() &&
    Buffer.byteLength(name) <= longestName
  const path = `${folder === '/' ? '' : folder}/${isGood ? name.normalize('NFC') : ''}`
  if (!isGood || Buffer.byteLength(path) > longestPath)
    throw invalid(`In "${folder}", no file or folder can have the name ${quoted(name)}.`)
  return path
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}
