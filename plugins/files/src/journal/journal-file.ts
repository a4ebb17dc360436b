import { randomUUID } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { entryTables, keptTables } from '../entries/entry-tables.ts'

/** The version of the tables. It rises with every step. */
const schemaVersion = 11
/**
 * The oldest version whose programs can use the tables as they are now. A step that only adds leaves it alone, so that after
 * an update the node can go back to the version before. A step that raises it comes with a migration of the plugin that declares
 * `change: 'contract'`, or the node would offer a rollback that fails here.
 */
const oldestUsable = 7

/**
 * The tables of version 7, the first that was released.
 *
 * `changes`: times are milliseconds since 1970. A pending row is an intent; the index of pending rows stays tiny. `staging` is
 * the part of a change in a staged copy. Readers never pass such rows, so that a copy of many files costs them nothing.
 * `created`: the dates of files whose backend forgot them when they were overwritten, for the releases before version 9. The index has
 * them now: `takeFormerDates` empties the table.
 * `pruned`: the number up to which the changes of a user were deleted.
 * `staged_moves`: the paths of copies that do not have their final name yet.
 * `kept`: the changes after a number that a reader still needs, and when it said so.
 */
const tables = `
  CREATE TABLE journal (epoch TEXT NOT NULL, oldest_usable INTEGER NOT NULL) STRICT;
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
    at INTEGER NOT NULL,
    staging TEXT
  ) STRICT;
  CREATE INDEX shown_changes ON changes (user, seq) WHERE staging IS NULL;
  CREATE INDEX staged_changes ON changes (user, path) WHERE staging IS NOT NULL;
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
  CREATE TABLE staged_moves (
    user TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (user, path)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE kept (
    user TEXT NOT NULL, reader TEXT NOT NULL, after INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, reader)
  ) STRICT, WITHOUT ROWID;
`

/**
 * Version 8 adds `id` of changes, and of the last change in `pruned`. It distinguishes a change from one with the same number in
 * another history, as after a data folder was put back. A trigger makes it, so that the rows of a former release have one too. A machine
 * that was put back with its memory may draw the same random number again, so the time is a part of the id.
 */
const addIds = `
  ALTER TABLE changes ADD COLUMN id TEXT;
  ALTER TABLE pruned ADD COLUMN id TEXT;
  UPDATE changes SET id = printf('%x', at) || lower(hex(randomblob(8)));
  CREATE TRIGGER ids_of_changes AFTER INSERT ON changes BEGIN
    UPDATE changes SET id = printf('%x', at) || lower(hex(randomblob(8))) WHERE seq = new.seq;
  END;
`

/** Lets the storages of a user be compared before anybody trusts their entries. */
const distrustEntries = 'UPDATE trees SET complete = 0 WHERE user = new.user;'

/**
 * Version 9 adds the index. `indexed` is 1 for a change that it has. A release before may run again after a rollback of an update: its
 * changes have none. Triggers then take note at once, since that release may delete the changes before this one runs again.
 */
const addIndex = `
  ${entryTables}
  ALTER TABLE changes ADD COLUMN indexed INTEGER;
  UPDATE changes SET indexed = 1 WHERE pending = 0;
  CREATE TRIGGER unindexed_changes AFTER INSERT ON changes
  WHEN new.indexed IS NULL AND new.pending = 0 AND new.staging IS NULL BEGIN ${distrustEntries} END;
  CREATE TRIGGER unindexed_commits AFTER UPDATE OF pending ON changes
  WHEN new.indexed IS NULL AND new.pending = 0 AND new.staging IS NULL BEGIN ${distrustEntries} END;
`

/**
 * Version 9 also adds who made a change: `maker` is the JSON of a `ChangeMaker`, and `change_group` the group of the change. Rows of a
 * former release have none.
 */
const addMakers = `
  ALTER TABLE changes ADD COLUMN maker TEXT;
  ALTER TABLE changes ADD COLUMN change_group TEXT;
`

/**
 * Version 10 adds an index of the changes of a group, to take them back, and the files that are kept after a deletion or a replacement. `kept` is the name under which a change keeps them, and
 * `restored` the one from which it puts them back. A former release resolves such changes as if nothing was kept, and a comparison then
 * finds what is.
 */
const addKept = `
  ${keptTables}
  ALTER TABLE changes ADD COLUMN kept TEXT;
  ALTER TABLE changes ADD COLUMN restored TEXT;
  CREATE INDEX grouped_changes ON changes (user, change_group) WHERE change_group IS NOT NULL AND staging IS NULL;
`

/**
 * Version 11 adds `undoes` of the newest change of an undo that is complete: the number of the newest change of the group that it has taken
 * back. A former release ignores it.
 */
const addUndoes = 'ALTER TABLE changes ADD COLUMN undoes INTEGER;'

/**
 * Opens the one connection that writes. Only the node's own account can read a new file.
 *
 * @throws Error with one line for a person
 */
export function openJournalFile(file: string): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    makePrivateFile(file)
    connection = new DatabaseSync(file, { timeout: 5000 })
    connection.exec('PRAGMA journal_mode = WAL')
    // Deleted rows are overwritten: an erasure must leave nothing in free pages.
    connection.exec('PRAGMA secure_delete = ON')
    // Only macOS knows these two. A plain sync there stops at the disk's own memory.
    connection.exec('PRAGMA fullfsync = ON')
    connection.exec('PRAGMA checkpoint_fullfsync = ON')
    // The log grows while a backup holds a snapshot, and gives the space back later.
    connection.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`)
    applySchema(connection)
    // A crash may have left rows of erased users in the log.
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return connection
  } catch (cause) {
    connection?.close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      `The journal of files cannot be opened: ${reason}. Check ${file}, the disk that holds it, and the rights of the node's user.`,
      { cause },
    )
  }
}

/**
 * Closing any descriptor of a file that SQLite has open drops SQLite's locks, so this never touches a file that exists.
 */
function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Makes the tables of a new journal. Tables to which a newer version only added something are used as they are.
 *
 * @throws Error when another version of Nodekeep made tables that this version cannot use
 */
function applySchema(connection: DatabaseSync): void {
  const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
  if (found === schemaVersion) return
  if (found > schemaVersion) {
    if (oldestUsableOf(connection) <= schemaVersion) return
    throw new Error('it was written by a newer version of Nodekeep; start that version')
  }
  if (found > 0 && found < oldestUsable)
    throw new Error('it was written by a version of Nodekeep that was never released')
  connection.exec('BEGIN IMMEDIATE')
  if (found === 0) {
    connection.exec(tables)
    connection
      .prepare('INSERT INTO journal (epoch, oldest_usable) VALUES (?, ?)')
      .run(randomUUID(), oldestUsable)
  }
  if (found < 8) connection.exec(addIds)
  if (found < 9) connection.exec(`${addIndex} ${addMakers}`)
  if (found < 10) connection.exec(addKept)
  connection.exec(`${addUndoes} PRAGMA user_version = ${schemaVersion}; COMMIT`)
  // The releases before version 9 did not overwrite what they deleted.
  if (found > 0 && found < 9) connection.exec('VACUUM')
}

/** Tables of a newer version without this column are not usable. */
function oldestUsableOf(connection: DatabaseSync): number {
  const column = "SELECT 1 FROM pragma_table_info('journal') WHERE name = 'oldest_usable'"
  if (connection.prepare(column).get() === undefined) return Number.POSITIVE_INFINITY
  return Number(connection.prepare('SELECT oldest_usable FROM journal').get()?.oldest_usable)
}
