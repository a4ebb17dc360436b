import { DatabaseSync } from 'node:sqlite'
import { openFailure } from '@nodekeep/plugin-sdk/data-folder'

/**
 * The version of the tables. They can be made again from the packs, so an unknown version is a reason to do that.
 */
const schemaVersion = 1

/**
 * `pack`: `length` are the bytes of a pack that are on the disk for sure. `dead` are those of its sections whose blocks are not in
 * `block` any more.
 *
 * `block`: `position` and `length` are those of the bytes of the block in its pack. `refs` counts the links of blocks in the table to the
 * block, and the rows of `entry` and `root` that name it. A block without any is removed, unless a session or a reading holds it.
 *
 * `entry`: the tree of the backend. The root has the id 1, and is its own parent. A name is UTF-16BE, so that the order of bytes is
 * JavaScript's order of strings. Folders have no `root`. Entries whose parent is 0 were removed with their folder; their rows go in steps.
 *
 * `root`: blocks that something else than an entry needs, such as a publication.
 */
const tables = `
  CREATE TABLE pack (number INTEGER PRIMARY KEY, length INTEGER NOT NULL, dead INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE TABLE block (
    cid BLOB PRIMARY KEY, pack INTEGER NOT NULL, position INTEGER NOT NULL, length INTEGER NOT NULL, refs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_place ON block (pack, position);
  CREATE INDEX block_unused ON block (cid) WHERE refs = 0;
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
 * @throws Error with one line for a person
 */
export function openIndex(file: string): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(file, { timeout: 5000 })
    // Only macOS knows these two. A plain sync there stops at the disk's own memory.
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
    connection.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${64 * 1024 * 1024}`)
    const found = connection.prepare('PRAGMA user_version').get()?.user_version
    if (found === 0)
      connection.exec(`BEGIN IMMEDIATE; ${tables} PRAGMA user_version = ${schemaVersion}; COMMIT`)
    else if (found !== schemaVersion) throw new Error('another version of Nodekeep made it')
    return connection
  } catch (error) {
    connection?.close()
    throw openFailure(file, error, 'Delete it: the node makes it again from the packs.')
  }
}

/** Opens a connection that reads. */
export function openIndexForReading(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: 5000 })
}
