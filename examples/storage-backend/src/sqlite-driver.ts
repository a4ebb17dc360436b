import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  ChangeGate,
  NodekeepError,
  type PreparedSnapshot,
  type StorageDriver,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageDriverSnapshot,
  type StorageDriverWriteOptions,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'

/** SQLITE_FULL: the disk is full, or the database reached its limit. https://www.sqlite.org/rescode.html */
const fullCode = 13

/**
 * `node`: files and folders; a folder has no content. `content`: a row for each write. Its number is never used again, so it
 * is the revision of the file. `chunk`: the bytes of a content, by their position.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS content (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
  CREATE TABLE IF NOT EXISTS chunk (
    content INTEGER REFERENCES content ON DELETE CASCADE, position INTEGER, bytes BLOB, UNIQUE (content, position)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS node (
    path TEXT PRIMARY KEY, parent TEXT, content INTEGER, size INTEGER, modified INTEGER, created INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS node_parent ON node (parent);
  INSERT OR IGNORE INTO node VALUES ('/', NULL, NULL, 0, 0, 0);
  DELETE FROM content WHERE id NOT IN (SELECT content FROM node WHERE content IS NOT NULL);`

/** A file, or a folder and everything in it: "0" is the character after "/". */
const within = `path = :path OR path > :path || '/' AND path < :path || '0'`

/** Stores files in one SQLite database. `createStorageBackend` makes a backend of it. */
export class SqliteDriver implements StorageDriver {
  readonly supports = { atomicMove: true, atomicFolders: true, durable: true, modified: true }
  readonly #connection: DatabaseSync
  readonly #gate = new ChangeGate()
  /** Contents without a file. They are deleted when nobody reads. */
  readonly #orphans: SQLInputValue[] = []
  #readers = 0

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  /** @param maxBytes the largest size of the database */
  static open(file: string, maxBytes: number): SqliteDriver {
    const connection = new DatabaseSync(file)
    connection.exec(`PRAGMA journal_mode = WAL; ${tables}`)
    const { page_size: pageSize } = connection.prepare('PRAGMA page_size').get() as { page_size: number }
    connection.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`)
    return new SqliteDriver(connection)
  }

  async probe(): Promise<void> {
    await this.stat('/')
  }

  async stat(path: string): Promise<StorageEntry> {
    return entryOf(this.#get(path))
  }

  async *list(path: string): AsyncIterable<StorageEntry> {
    const entries = this.#prepare('SELECT * FROM node WHERE parent = ?').all(path).map(entryOf)
    yield* entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The content begins with the chunk that has the first requested byte. */
  async open(path: string, { start }: StorageDriverReadOptions): Promise<StorageDriverReading> {
    const node = this.#get(path)
    const chunk = 'SELECT max(position) AS first FROM chunk WHERE content = ? AND position <= ?'
    const first = Number(this.#prepare(chunk).get(node.content ?? null, start)?.first ?? 0)
    this.#readers += 1
    return { entry: entryOf(node), start: first, content: this.#chunks(node.content ?? null, first) }
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    { modified, beforeCommit }: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    // Until the last step, a power loss may undo what was stored.
    const { lastInsertRowid: id } = this.#transaction('NORMAL', () =>
      this.#prepare('INSERT INTO content DEFAULT VALUES').run(),
    )
    try {
      let size = 0
      for await (const bytes of content) {
        if (bytes.length === 0) continue
        this.#transaction('NORMAL', () =>
          this.#prepare('INSERT INTO chunk VALUES (?, ?, ?)').run(id, size, bytes),
        )
        size += bytes.length
      }
      return await this.#gate.runShared(async () => {
        await beforeCommit({ revision: String(id) })
        this.#change(path, () => this.#insert(path, id, size, modified))
        return this.stat(path)
      })
    } catch (error) {
      this.#drop(id)
      throw error
    }
  }

  makeDirectory(path: string): Promise<void> {
    return this.#gate.runShared(async () => this.#transaction('FULL', () => this.#makeFolders(path)))
  }

  remove(path: string): Promise<void> {
    return this.#gate.runShared(async () => this.#change(path, () => {}))
  }

  move(source: string, destination: string): Promise<void> {
    const update = `UPDATE node SET path = :to || substr(path, length(:path) + 1),
      parent = iif(path = :path, :parent, :to || substr(parent, length(:path) + 1)) WHERE ${within}`
    return this.#gate.runShared(async () =>
      this.#change(destination, () =>
        this.#prepare(update).run({ path: source, to: destination, parent: parentOf(destination) }),
      ),
    )
  }

  /** A connection with an open transaction sees the database as it is now, even if it changes later. */
  async prepareSnapshot(signal: AbortSignal): Promise<PreparedSnapshot<StorageDriverSnapshot>> {
    const file = this.#connection.location() as string
    const snapshot = new SqliteDriver(new DatabaseSync(file, { readOnly: true }))
    const release = () => snapshot.close()
    const take = (atMoment: () => Promise<void>) =>
      this.#gate.runExclusive(async () => {
        snapshot.#connection.exec('BEGIN; SELECT 1 FROM node')
        await atMoment()
        return Object.assign(snapshot, { release })
      }, signal)
    return { take, release }
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  #get(path: string) {
    const node = this.#prepare('SELECT * FROM node WHERE path = ?').get(path)
    if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is no file or folder at ${path}.`)
    return node
  }

  async *#chunks(content: SQLInputValue, first: number): AsyncIterable<Uint8Array> {
    const chunk = this.#prepare('SELECT bytes FROM chunk WHERE content = ? AND position = ?')
    try {
      for (let position = first; ; ) {
        const bytes = chunk.get(content, position)?.bytes as Uint8Array | undefined
        if (bytes === undefined) return
        position += bytes.length
        yield bytes
      }
    } finally {
      this.#readers -= 1
      this.#drop()
    }
  }

  /** Removes what is at a path, makes its parents, and does the work, all in one transaction. */
  #change(path: string, work: () => void): void {
    const orphans = this.#transaction('FULL', () => {
      const removed = this.#prepare(`DELETE FROM node WHERE ${within} RETURNING content`).all({ path })
      this.#makeFolders(parentOf(path))
      work()
      return removed.flatMap(({ content }) => content ?? [])
    })
    this.#drop(...orphans)
  }

  #makeFolders(path: string): void {
    if (path === '/') return
    if (this.#insert(path, null, 0)) this.#makeFolders(parentOf(path))
  }

  /** Returns false if the path is taken. */
  #insert(path: string, content: SQLInputValue, size: number, modified = new Date()): boolean {
    const node = [path, parentOf(path), content, size, modified.getTime(), Date.now()]
    return this.#prepare('INSERT OR IGNORE INTO node VALUES (?, ?, ?, ?, ?, ?)').run(...node).changes === 1
  }

  #drop(...contents: SQLInputValue[]): void {
    this.#orphans.push(...contents)
    if (this.#readers > 0) return
    for (const content of this.#orphans.splice(0))
      this.#transaction('NORMAL', () => this.#prepare('DELETE FROM content WHERE id = ?').run(content))
  }

  #prepare(sql: string): StatementSync {
    return this.#connection.prepare(sql)
  }

  /** Does all of the work or none of it. With FULL, this and all earlier work survives a power loss. */
  #transaction<T>(synchronous: 'FULL' | 'NORMAL', work: () => T): T {
    this.#connection.exec(`PRAGMA synchronous = ${synchronous}; BEGIN IMMEDIATE`)
    try {
      const result = work()
      this.#connection.exec('COMMIT')
      return result
    } catch (error) {
      // After some failures, SQLite has already rolled back.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
      if ((error as { errcode?: number }).errcode !== fullCode) throw error
      const message = 'The database of files is full. Remove files, or raise maxBytes.'
      throw new NodekeepError('INSUFFICIENT_STORAGE', message, { cause: error })
    }
  }
}

function entryOf({ path, content, size, modified, created }: Record<string, SQLInputValue>): StorageEntry {
  return {
    name: String(path).slice(String(path).lastIndexOf('/') + 1) || '/',
    type: content === null ? 'directory' : 'file',
    size: Number(size),
    modified: new Date(Number(modified)),
    created: new Date(Number(created)),
    revision: String(content ?? 'folder'),
  }
}

/** Returns the path of the parent folder. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
