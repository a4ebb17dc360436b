import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './disk-failures.ts'
import { openFailure } from './open-failure.ts'
import { preparePrivateFile } from './private-folder.ts'

/** The right to be the only node on a data folder. It ends with the process, even when the process is killed. */
export interface DataLock {
  /** Differs for each time that the lock is taken. */
  readonly token: string
  /** Lets another node use the folder. Calling it again does nothing. */
  release(): void
}

/** The process that holds the lock, as other processes read it. */
export interface LockHolder {
  readonly token: string
  readonly pid: number
  readonly since: string
}

const attempts = 5

const damagedRemedy = 'Move it away, and start again: it has no data.'

/**
 * Takes `<folder>/lock`: a small SQLite database that names its holder, with a write transaction left open on it. The
 * operating system drops the transaction's lock with the process, so a crash leaves nothing to clean up.
 *
 * @throws Error that names the process that holds the folder, or says why the folder cannot be locked
 */
export function lockDataFolder(folder: string): DataLock {
  const path = preparePrivateFile(folder, 'lock')
  let connection: DatabaseSync | undefined
  let token: string
  try {
    connection = new DatabaseSync(path, { timeout: 200 })
    token = newToken(connection)
    hold(connection, folder, token)
  } catch (error) {
    connection?.close()
    throw error instanceof FolderInUse ? error : openFailure(path, error, damagedRemedy)
  }
  const held = connection
  return {
    token,
    release() {
      if (held.isOpen) held.close()
    },
  }
}

/** Returns the process that holds the lock of a data folder; `null` when no node runs there. */
export function lockHolder(folder: string): LockHolder | null {
  const path = join(folder, 'lock')
  if (!existsSync(path)) return null
  const connection = new DatabaseSync(path, { timeout: 0 })
  try {
    connection.exec('BEGIN IMMEDIATE')
    return null
  } catch (error) {
    if (!isBusy(error)) throw openFailure(path, error, damagedRemedy)
    return readHolder(connection) ?? null
  } finally {
    connection.close()
  }
}

class FolderInUse extends Error {}

/** SQLite is there already, while `node:crypto` takes 2 MB, which a supervisor would hold for years. */
function newToken(connection: DatabaseSync): string {
  return connection.prepare('SELECT hex(randomblob(16)) AS token').get()?.token as string
}

/**
 * Recording the holder needs a commit, and the commit releases the lock for a moment. So this writes, takes the lock
 * again, and checks that the recorded holder is still this process.
 */
function hold(connection: DatabaseSync, folder: string, token: string): void {
  const execute = (statement: string) => {
    try {
      connection.exec(statement)
    } catch (error) {
      if (isBusy(error)) throw new FolderInUse(inUse(folder, readHolder(connection), token), { cause: error })
      throw error
    }
  }
  execute('PRAGMA journal_mode = DELETE')
  for (let attempt = 0; attempt < attempts; attempt++) {
    execute('BEGIN IMMEDIATE')
    if (readHolder(connection)?.token === token) return
    writeHolder(connection, { token, pid: process.pid, since: new Date().toISOString() })
    connection.exec('COMMIT')
  }
  throw new FolderInUse(inUse(folder, undefined, token))
}

function writeHolder(connection: DatabaseSync, holder: LockHolder): void {
  connection.exec(
    'CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT, pid INTEGER, since TEXT) STRICT',
  )
  connection
    .prepare('INSERT OR REPLACE INTO holder (one, token, pid, since) VALUES (1, ?, ?, ?)')
    .run(holder.token, holder.pid, holder.since)
}

/** Returns `undefined` when there is no holder yet, or while the holder is writing its record. */
function readHolder(connection: DatabaseSync): LockHolder | undefined {
  try {
    return connection.prepare('SELECT token, pid, since FROM holder').get() as LockHolder | undefined
  } catch {
    return undefined
  }
}

function inUse(folder: string, holder: LockHolder | undefined, ownToken: string): string {
  const who = holder && holder.token !== ownToken ? ` (process ${holder.pid}, since ${holder.since})` : ''
  return `Another node${who} already uses ${folder}. Stop it, or start this one with another --data.`
}
