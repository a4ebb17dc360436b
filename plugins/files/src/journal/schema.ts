import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

const version = 3

/**
 * `changes`: times are milliseconds since 1970. A pending row is an intent; the index of those stays tiny.
 * `created`: the dates of files whose backend forgot them when they were overwritten.
 * `pruned`: up to which number the changes of a user were forgotten.
 */
const tables = `
  CREATE TABLE journal (epoch TEXT NOT NULL) STRICT;
  CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    pending INTEGER NOT NULL DEFAULT 1,
    op TEXT NOT NULL,
    path TEXT NOT NULL,
    source TEXT,
    size INTEGER,
    revision TEXT,
    by TEXT,
    created INTEGER,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX changes_of_user ON changes (user, seq);
  CREATE INDEX pending_changes ON changes (user, seq) WHERE pending = 1;
  CREATE TABLE created (
    user TEXT NOT NULL,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    revision TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (user, folder, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE pruned (user TEXT PRIMARY KEY, through INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`

/** `longest`: bytes that no path of a user exceeds, where that is more than most users ever have. */
const tablesOfVersion2 = `
  CREATE TABLE longest (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO longest SELECT user, max(length(CAST(path AS BLOB))) AS bytes FROM changes GROUP BY user;
`

/** `stopovers`: copies that moves across mounts put together before they get their name. */
const tablesOfVersion3 = `
  CREATE TABLE IF NOT EXISTS stopovers (
    user TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (user, path)
  ) STRICT, WITHOUT ROWID;
`

/**
 * Makes the tables of a new journal, and those that an older one lacks.
 *
 * @throws Error when a newer version of Nodekeep made them
 */
export function applySchema(connection: DatabaseSync): void {
  const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
  if (found > version) throw new Error('it was written by a newer version of Nodekeep; start that version')
  if (found === version) return
  connection.exec('BEGIN IMMEDIATE')
  if (found < 1) {
    connection.exec(tables)
    connection.prepare('INSERT INTO journal (epoch) VALUES (?)').run(randomUUID())
  }
  if (found < 2) connection.exec(tablesOfVersion2)
  connection.exec(`${tablesOfVersion3} PRAGMA user_version = ${version}; COMMIT`)
}
