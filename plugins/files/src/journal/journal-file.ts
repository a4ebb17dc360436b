import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** The version of the tables. It rises with every step. */
const schemaVersion = 7
/**
 * The oldest version whose programs can use the tables as they are now. A step that only adds leaves it alone, so that after
 * an update the node can go back to the version before.
 */
const oldestUsable = 6

/**
 * `changes`: times are milliseconds since 1970. A pending row is an intent; the index of pending rows stays tiny.
 * `created`: the dates of files whose backend forgot them when they were overwritten.
 * `pruned`: the number up to which the changes of a user were deleted.
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

/** `staged_moves`: the paths of copies that do not have their final name yet. */
const stagedMoves = `
  CREATE TABLE IF NOT EXISTS staged_moves (
    user TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (user, path)
  ) STRICT, WITHOUT ROWID;
`

/** `kept`: the changes after a number that a reader still needs, and when it said so. */
const kept = `
  CREATE TABLE IF NOT EXISTS kept (
    user TEXT NOT NULL, reader TEXT NOT NULL, after INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, reader)
  ) STRICT, WITHOUT ROWID;
`

/**
 * `staging`: the part of a change in a staged copy. Readers never pass such rows, so that a copy of many files costs them
 * nothing. Versions before 7 need the index `changes_of_user`, which the next step that contracts can drop. They also show
 * the copies that they stage: `shown`.
 */
const staging = `
  ALTER TABLE changes ADD COLUMN staging TEXT;
  ALTER TABLE staged_moves ADD COLUMN shown INTEGER NOT NULL DEFAULT 1;
  CREATE INDEX shown_changes ON changes (user, seq) WHERE staging IS NULL;
  CREATE INDEX staged_changes ON changes (user, path) WHERE staging IS NOT NULL;
`

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
    // Only macOS knows these two. A plain sync there stops at the disk's own memory.
    connection.exec('PRAGMA fullfsync = ON')
    connection.exec('PRAGMA checkpoint_fullfsync = ON')
    // The log grows while a backup holds a snapshot, and gives the space back later.
    connection.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`)
    applySchema(connection, file)
    // A crash may have left rows of erased users in the log.
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return connection
  } catch (cause) {
    connection?.close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      `The journal of files cannot be opened: ${reason}. Check ${file}: restore it from a backup, or move it away to begin a new one.`,
      { cause },
    )
  }
}

/**
 * Moves a journal from where earlier versions kept it. Nothing may have either file open. The log goes first: after a crash
 * in between, the next start moves the rest.
 *
 * @param to an empty file, or where the journal is already
 */
export function moveFormerJournal(from: string, to: string): void {
  if (!existsSync(from)) return
  if (existsSync(`${from}-wal`)) renameSync(`${from}-wal`, `${to}-wal`)
  rmSync(`${from}-shm`, { force: true })
  renameSync(from, to)
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
 * Makes the tables of a new journal, and brings an older one up to date. Tables to which a newer version only added something
 * stay as they are.
 *
 * @throws Error when a newer version of Nodekeep made tables that this version cannot use
 */
function applySchema(connection: DatabaseSync, file: string): void {
  const found = Number(connection.prepare('PRAGMA user_version').get()?.user_version)
  if (found > schemaVersion && oldestUsableOf(connection) > schemaVersion)
    throw new Error('it was written by a newer version of Nodekeep; start that version')
  if (found >= schemaVersion) return
  connection.exec('BEGIN IMMEDIATE')
  if (found === 0) {
    connection.exec(tables)
    connection.prepare('INSERT INTO journal (epoch) VALUES (?)').run(randomUUID())
  }
  if (found === 3) connection.exec('ALTER TABLE stopovers RENAME TO staged_moves')
  if (found < 6) {
    // Versions 2 and 3 kept a bound on the length of each user's paths, and a file to release on a full disk.
    connection.exec(
      `${stagedMoves} ${kept} DROP TABLE IF EXISTS longest;
       ALTER TABLE journal ADD COLUMN oldest_usable INTEGER NOT NULL DEFAULT ${oldestUsable}`,
    )
  }
  connection.exec(`${staging} PRAGMA user_version = ${schemaVersion}; COMMIT`)
  rmSync(file.replace(/\.sqlite$/, '.ballast'), { force: true })
}

/** Tables of a newer version that do not tell it are not usable. */
function oldestUsableOf(connection: DatabaseSync): number {
  const column = "SELECT 1 FROM pragma_table_info('journal') WHERE name = 'oldest_usable'"
  if (connection.prepare(column).get() === undefined) return Number.POSITIVE_INFINITY
  return Number(connection.prepare('SELECT oldest_usable FROM journal').get()?.oldest_usable)
}
