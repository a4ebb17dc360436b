import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'

/**
 * The version of the tables. A database of another version than this one and the one before is made again, also by the release before:
 * no table or index has a name that it gives to another one.
 */
const schemaVersion = 3

/**
 * `cuts`: contents of files of users whose blocks are known. `blocks`: their blocks, for contents of more than one block. `uploads`: files
 * that clients are about to send; `blocks` has 36 bytes for each block, its SHA-256 and its size. Times are milliseconds since 1970.
 */
const cutTables = `
  CREATE TABLE cuts (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, sha256 BLOB NOT NULL, UNIQUE (user, sha256)
  ) STRICT;
  CREATE TABLE blocks (
    cut INTEGER NOT NULL REFERENCES cuts ON DELETE CASCADE,
    start INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (cut, start)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_contents ON blocks (sha256);
`
const uploadTable = `
  CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    modified INTEGER,
    if_revision TEXT,
    blocks BLOB NOT NULL,
    used INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX equal_uploads ON uploads (user, path, sha256);
`

/** Opens the database of blocks and uploads, or makes it. */
export function openContentDatabase(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
    if (found === schemaVersion) return connection
    // The hashes of version 2 move to the index of files: see `moveFormerHashes`.
    const kept = found === 2 ? 'DROP INDEX contents; ALTER TABLE files RENAME TO former_hashes;' : ''
    const dropped = [
      'blocks',
      'cuts',
      'former_hashes',
      ...(found === 2 ? [] : ['files', 'uploads']),
      'indexed',
    ]
    inTransaction(connection, () =>
      connection.exec(
        `${dropped.map((name) => `DROP TABLE IF EXISTS ${name};`).join(' ')} ${kept} ${cutTables}
         ${found === 2 ? '' : uploadTable} PRAGMA user_version = ${schemaVersion};`,
      ),
    )
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
