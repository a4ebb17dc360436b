import { randomUUID } from 'node:crypto'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import {
  inTransaction,
  NodekeepError,
  nameOf,
  parentOf,
  type StorageDriver,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'

/** `node`: files and folders; a folder has no revision. `chunk`: the bytes of each revision, which are deleted with its file. */
const tables = `
  CREATE TABLE IF NOT EXISTS node (
    path TEXT PRIMARY KEY, parent TEXT, revision TEXT, size INTEGER, modified INTEGER, created INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS node_parent ON node (parent);
  CREATE TABLE IF NOT EXISTS chunk (
    revision TEXT, position INTEGER, bytes BLOB, PRIMARY KEY (revision, position)
  ) STRICT;
  CREATE TRIGGER IF NOT EXISTS node_deleted AFTER DELETE ON node BEGIN
    DELETE FROM chunk WHERE revision = old.revision;
  END;
  INSERT OR IGNORE INTO node VALUES ('/', NULL, NULL, 0, 0, 0);
  DELETE FROM chunk WHERE revision NOT IN (SELECT revision FROM node WHERE revision IS NOT NULL);`

/** A file, or a folder and everything in it: "0" is the character after "/". */
const within = `path = :path OR path > :path || '/' AND path < :path || '0'`

/** @param maxBytes the largest size of the database */
export function openDatabase(file: string, maxBytes: number): DatabaseSync {
  const database = new DatabaseSync(file)
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA max_page_count = ${Math.floor(maxBytes / 4096)}; ${tables}`,
  )
  return database
}

/** Makes a driver that stores files in a database. */
export function sqliteDriver(database: DatabaseSync): StorageDriver {
  const entryAt = (path: string): StorageEntry => {
    const node = database.prepare('SELECT * FROM node WHERE path = ?').get(path)
    if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is no file or folder at ${path}.`)
    return entryOf(node)
  }
  /** Returns false if the path is taken. */
  const insert = (path: string, revision: string | null, size: number, modified: Date): boolean => {
    const node = [path, parentOf(path), revision, size, modified.getTime(), Date.now()]
    return database.prepare('INSERT OR IGNORE INTO node VALUES (?, ?, ?, ?, ?, ?)').run(...node).changes === 1
  }
  const makeFolders = (path: string): void => {
    if (insert(path, null, 0, new Date())) makeFolders(parentOf(path))
  }
  /** Makes a change in one step. It survives a power loss, with all bytes that came before. */
  const change = (work: () => void): void => {
    database.exec('PRAGMA synchronous = FULL')
    inTransaction(database, work)
    database.exec('PRAGMA synchronous = NORMAL')
  }
  const rename = (path: string, to: string): void => {
    const update = `UPDATE node SET path = :to || substr(path, length(:path) + 1),
      parent = iif(path = :path, :parent, :to || substr(parent, length(:path) + 1)) WHERE ${within}`
    const { changes } = database.prepare(update).run({ path, to, parent: parentOf(to) })
    if (changes !== 0) makeFolders(parentOf(to))
  }
  /** Removes or keeps what is at a path, makes its parents, and puts something else there. */
  const replace = (path: string, put: () => void, keepReplacedAt?: string): void =>
    change(() => {
      if (keepReplacedAt !== undefined) rename(path, keepReplacedAt)
      database.prepare(`DELETE FROM node WHERE ${within}`).run({ path })
      makeFolders(parentOf(path))
      put()
    })
  async function* chunksOf({ revision, size }: StorageEntry, start: number) {
    const chunk = database.prepare('SELECT bytes FROM chunk WHERE revision = ? AND position = ?')
    for (let position = start; position < size; ) {
      const bytes = chunk.get(revision, position)?.bytes as Uint8Array | undefined
      if (bytes === undefined) throw new NodekeepError('CONFLICT', 'The file was changed while it was read.')
      position += bytes.length
      yield bytes
    }
  }
  return {
    supports: { atomicFolders: true, durable: true, modified: true, keepsReplaced: true },
    stat: async (path) => entryAt(path),
    async *list(path) {
      const entries = database.prepare('SELECT * FROM node WHERE parent = ?').all(path).map(entryOf)
      yield* entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    /** The content begins with the chunk that has the first requested byte. */
    async open(path, options) {
      const entry = entryAt(path)
      const first = 'SELECT max(position) AS start FROM chunk WHERE revision = ? AND position <= ?'
      const start = Number(database.prepare(first).get(entry.revision, options.start)?.start)
      return { entry, start, content: chunksOf(entry, start) }
    },
    async write(path, content, { modified = new Date(), beforeCommit, keepReplacedAt }) {
      const revision = randomUUID()
      try {
        let size = 0
        for await (const bytes of content) {
          database.prepare('INSERT INTO chunk VALUES (?, ?, ?)').run(revision, size, bytes)
          size += bytes.length
        }
        await beforeCommit({ revision })
        replace(path, () => insert(path, revision, size, modified), keepReplacedAt)
        return entryAt(path)
      } catch (error) {
        database.prepare('DELETE FROM chunk WHERE revision = ?').run(revision)
        throw error
      }
    },
    makeDirectory: async (path) => change(() => makeFolders(path)),
    remove: async (path) => replace(path, () => {}),
    move: async (path, to, { keepReplacedAt }) => replace(to, () => rename(path, to), keepReplacedAt),
    /** A connection with an open transaction sees the database as it is now, even if it changes later. */
    async snapshot() {
      const fixed = new DatabaseSync(database.location() as string, { readOnly: true })
      fixed.exec('BEGIN; SELECT 1 FROM node')
      return { ...sqliteDriver(fixed), release: async () => fixed.close() }
    },
    close: async () => database.close(),
  }
}

function entryOf({ path, size, modified, created, revision }: Record<string, SQLOutputValue>): StorageEntry {
  return {
    name: nameOf(String(path)),
    type: revision === null ? 'directory' : 'file',
    size: Number(size),
    modified: new Date(Number(modified)),
    created: new Date(Number(created)),
    revision: String(revision),
  }
}
