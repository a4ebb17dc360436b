import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'

const schemaVersion = 1

/**
 * - `followed`: how far the index of a user was read.
 * - `entry`: the files that may have a preview, by their names. `due` is when the next attempt may begin, in milliseconds since 1970, and
 *   null when nothing is left to do. `date` is set for photos whose facts are known: when it was taken, otherwise when it was modified.
 * - `content`: contents of files of a user that were decoded, or that failed.
 * - `preview`: the previews that are files in the cache. `used` is in milliseconds since 1970.
 * - `decoders`: those that decoded last time.
 */
const tables = `
  CREATE TABLE followed (
    user TEXT PRIMARY KEY,
    cursor TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE entry (
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT,
    modified INTEGER NOT NULL,
    sha256 TEXT,
    due INTEGER,
    date INTEGER,
    PRIMARY KEY (user, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX entry_due ON entry (user, modified, due) WHERE due IS NOT NULL;
  CREATE INDEX entry_date ON entry (user, date, id) WHERE date IS NOT NULL;
  CREATE INDEX entry_sha256 ON entry (user, sha256);
  CREATE TABLE content (
    user TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    failure TEXT,
    width INTEGER,
    height INTEGER,
    taken TEXT,
    latitude REAL,
    longitude REAL,
    camera TEXT,
    PRIMARY KEY (user, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE preview (
    user TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (user, sha256, size)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX preview_used ON preview (used);
  CREATE TABLE decoders (names TEXT NOT NULL) STRICT;
`

/** Opens the database of previews, or makes it. Everything in it can be made again, so another schema begins with nothing. */
export function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version === schemaVersion) return database
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    inTransaction(database, () => {
      for (const { name } of names) database.exec(`DROP TABLE "${name}"`)
      database.exec(`${tables} PRAGMA user_version = ${schemaVersion};`)
    })
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
