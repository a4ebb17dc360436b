import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'

const schemaVersion = 1

/**
 * `locks`: `path` is that within the files of the user. `is_deep` is 1 for a lock of depth "infinity". `owner` is the XML element that the client
 * sent, or empty. `expires` is in milliseconds since 1970.
 * `property_entries`: the files and folders with properties that clients have set, by their ids in the index of files. `gone` is when the entry was
 * found to be gone, in milliseconds since 1970; null as long as it is there.
 * `properties`: `name` is `{namespace}name`, `xml` the whole element, `bytes` what it counts.
 */
const tables = `
  CREATE TABLE locks (
    token TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    is_deep INTEGER NOT NULL,
    is_shared INTEGER NOT NULL,
    owner TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    expires INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX locks_of_user ON locks (user, expires);
  CREATE TABLE property_entries (
    user TEXT NOT NULL,
    entry TEXT NOT NULL,
    gone INTEGER,
    PRIMARY KEY (user, entry)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE properties (
    user TEXT NOT NULL,
    entry TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    xml TEXT NOT NULL,
    PRIMARY KEY (user, entry, name)
  ) STRICT;
`

/** Opens the database of locks and properties, or makes it. */
export function openDavDatabase(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000 })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    if (Number(connection.prepare('PRAGMA user_version').get()?.user_version) < schemaVersion)
      inTransaction(connection, () => connection.exec(`${tables} PRAGMA user_version = ${schemaVersion};`))
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
