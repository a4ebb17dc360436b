import { DatabaseSync } from 'node:sqlite'

/** The version of the tables. A database of another version is made again. */
const schemaVersion = 2

/**
 * `files`: the SHA-256 of the content that a file had in a revision. `blocks`: the parts of those files that have more than
 * one block. `uploads`: files that clients are about to send; `blocks` has 36 bytes for each block, its SHA-256 and its size.
 * `indexed`: how far the index has come, by user. Times are milliseconds since 1970.
 */
const tables = `
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    revision TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    UNIQUE (user, path)
  ) STRICT;
  CREATE INDEX contents ON files (user, sha256);
  CREATE TABLE blocks (
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    start INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (file, start)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_contents ON blocks (sha256);
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
  CREATE TABLE indexed (
    user TEXT PRIMARY KEY, epoch TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** Opens the database of contents and uploads, or makes it. */
export function openContentDatabase(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
    if (found === schemaVersion) return connection
    const old = ['blocks', 'files', 'uploads', 'indexed'].map((name) => `DROP TABLE IF EXISTS ${name};`)
    connection.exec(
      `BEGIN IMMEDIATE; ${old.join(' ')} ${tables} PRAGMA user_version = ${schemaVersion}; COMMIT`,
    )
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
