import { chmodSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { inTransaction, isDamage, openFailure } from '@nodekeep/plugin-sdk/data-folder'

/**
 * The version of the tables. They can be made again from the packs, so an unknown version is a reason to do that.
 */
const schemaVersion = 1

/**
 * `pack`: `length` are the bytes of a pack that are on the disk for sure. `live` are the bytes of the sections that must stay: those of
 * blocks in `block`, and damaged ones.
 *
 * `block`: `position` and `length` are those of the bytes of the block in its pack. `refs` counts the links of blocks in the table to the
 * block, and the rows of `entry` and `root` that name it. `freed` is the newest epoch in which the block was added, put or held again, or
 * lost a reference. A block without references is removed when all open sessions began in a later epoch. A block of pack 0 is lost, and
 * counts references only.
 *
 * `entry`: the tree of the backend. The root has the id 1, and is its own parent. A name is UTF-16BE, so that the order of bytes is
 * JavaScript's order of strings. Folders have no `root`. Entries whose parent is 0 were removed with their folder; their rows go in steps.
 *
 * `root`: blocks that something else than an entry needs, such as a publication.
 */
const tables = `
  CREATE TABLE pack (number INTEGER PRIMARY KEY, length INTEGER NOT NULL, live INTEGER NOT NULL) STRICT;
  CREATE TABLE block (
    cid BLOB PRIMARY KEY,
    pack INTEGER NOT NULL,
    position INTEGER NOT NULL,
    length INTEGER NOT NULL,
    refs INTEGER NOT NULL,
    freed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_place ON block (pack, position);
  CREATE INDEX block_unused ON block (freed) WHERE refs = 0;
  CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    name BLOB NOT NULL,
    root BLOB,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    created INTEGER NOT NULL,
    revision TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX entry_name ON entry (parent, name) WHERE parent <> 0;
  CREATE INDEX entry_removed ON entry (id) WHERE parent = 0;
  CREATE UNIQUE INDEX entry_revision ON entry (revision);
  CREATE TABLE root (holder TEXT PRIMARY KEY, cid BLOB NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO entry VALUES (1, 1, x'', NULL, 0, 0, 0, 'root');
`

/**
 * Opens the one connection that writes.
 *
 * @returns null if the file is not an index of this version that is whole
 * @throws Error with one line for a person
 */
export function openIndex(file: string): DatabaseSync | null {
  return opened(file, (connection) => {
    const found = connection.prepare('PRAGMA user_version').get()?.user_version
    return found === schemaVersion ? prepared(connection) : null
  })
}

/**
 * Makes an empty index in the place of the file. Until {@link finishIndex}, it counts as damaged.
 *
 * @throws Error with one line for a person
 */
export function newIndex(file: string): DatabaseSync {
  setAside(file)
  const connection = opened(file, (connection) => prepared(connection))
  if (connection === null) throw new Error(`${file} cannot be made.`)
  chmodSync(file, 0o600)
  inTransaction(connection, () => connection.exec(tables))
  return connection
}

/** Says that an index that was new is whole. */
export function finishIndex(connection: DatabaseSync): void {
  connection.exec(`PRAGMA user_version = ${schemaVersion}`)
}

/** Lets the next start make the index again. An index that had anything stays beside it, with the ending `.damaged`. */
export function setAside(file: string): void {
  if (existsSync(file) && statSync(file).size > 0) renameSync(file, `${file}.damaged`)
  for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
}

function prepared(connection: DatabaseSync): DatabaseSync {
  // Only macOS knows these two. A plain sync there stops at the disk's own memory.
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${64 * 1024 * 1024}`)
  return connection
}

function opened(file: string, use: (connection: DatabaseSync) => DatabaseSync | null): DatabaseSync | null {
  let connection: DatabaseSync | undefined
  let used: DatabaseSync | null = null
  try {
    connection = new DatabaseSync(file, { timeout: 5000 })
    used = use(connection)
  } catch (error) {
    if (!isDamage(error)) throw openFailure(file, error, '')
  } finally {
    if (used === null) connection?.close()
  }
  return used
}

/** Opens a connection that reads. */
export function openIndexForReading(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: 5000 })
}
