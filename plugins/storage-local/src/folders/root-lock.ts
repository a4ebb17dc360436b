import { DatabaseSync } from 'node:sqlite'

/** The name of the lock's file in the staging folder. */
export const lockName = 'lock'

/**
 * Makes this process the only one that uses a storage folder: two processes would remove each other's unfinished files. The
 * operating system drops the lock with the process.
 *
 * @param file in a folder that only the node changes
 * @returns gives the folder back; `null` if another process has it
 */
export function lockRoot(file: string): (() => void) | null {
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(file, { timeout: 0 })
    // Nothing is ever written, so there is nothing to roll back, and no second file.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
  } catch (error) {
    connection?.close()
    // A full disk, and a file system without locks, must not keep the node from its files.
    return isBusy(error) ? null : () => {}
  }
  const held = connection
  return () => held.close()
}

/** SQLite's result code for a lock that another connection holds: https://www.sqlite.org/rescode.html */
function isBusy(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' && (errcode & 0xff) === 5
}
