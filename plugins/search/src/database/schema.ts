import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { preparePrivateFile } from '@nodekeep/plugin-sdk/data-folder'

/** The format of the tables and of the texts in them. A database of another format is made anew. */
const format = 3

/**
 * `followed`: `cursor` is that of the index of files. `swept` is the time of the last sweep, in milliseconds since 1970. `lost` counts the
 * entries that were forgotten because they are gone, and `recovered` is its value before the last sweep.
 *
 * `entries`: the files and folders of the user. `number` is the row of its text in `texts`. `id` is that of the index of files. `folded` is its name
 * without case and accents, `modified` milliseconds since 1970. A folder that is gone keeps its row, with `is_gone`, since the files
 * in it may come back with it from the trash, and nobody tells of them then.
 *
 * `texts`: the words of the files. The texts themselves are not kept, but those in `kept_texts`, compressed with Zstandard, whose
 * extraction is slow.
 *
 * `failures`: contents that have no text, or whose text cannot be extracted, by their SHA-256 and the format that their names told: a PDF without
 * its extension is no text, but it is a PDF once it has its name. `size` tells which files may have such a content: only those are hashed.
 */
const tables = `
  CREATE TABLE followed (cursor TEXT NOT NULL, swept INTEGER NOT NULL, lost INTEGER NOT NULL, recovered INTEGER NOT NULL) STRICT;
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    folded TEXT NOT NULL,
    kind TEXT NOT NULL,
    size REAL NOT NULL,
    revision TEXT,
    modified INTEGER,
    state TEXT NOT NULL,
    is_gone INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX open_entries ON entries (state, number) WHERE state IN ('waiting', 'unreadable');
  CREATE VIRTUAL TABLE texts USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
  );
  CREATE TABLE kept_texts (number INTEGER PRIMARY KEY, text BLOB NOT NULL) STRICT;
  CREATE TABLE failures (
    sha256 TEXT NOT NULL, format TEXT NOT NULL, size REAL NOT NULL, state TEXT NOT NULL, PRIMARY KEY (sha256, format)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX failed_sizes ON failures (size);
`

/** Opens the database of a user, or makes it. */
export function openUserDatabase(folder: string, name: string): DatabaseSync {
  const connection = connect(folder, name)
  const version = connection.prepare('PRAGMA user_version').get()?.user_version
  if (version === format) return connection
  if (version !== 0) {
    connection.close()
    removeUserDatabase(folder, name)
    return openUserDatabase(folder, name)
  }
  connection.exec(`BEGIN IMMEDIATE; ${tables} PRAGMA user_version = ${format}`)
  connection.prepare("INSERT INTO followed VALUES ('', ?, 0, 0)").run(Date.now())
  connection.exec('COMMIT')
  return connection
}

/** Removes the database of a user. Nobody may have it open. */
export function removeUserDatabase(folder: string, name: string): void {
  // The log would be applied to a new file.
  for (const suffix of ['-wal', '-shm', '']) rmSync(`${folder}/${name}${suffix}`, { force: true })
}

function connect(folder: string, name: string): DatabaseSync {
  const connection = new DatabaseSync(preparePrivateFile(folder, name))
  try {
    // A power cut may take the last transactions, with their cursors: they are made again.
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4000')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
