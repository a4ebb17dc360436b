import { DatabaseSync } from 'node:sqlite'
import { isBusy } from '../data-folder/disk-failures.ts'

/**
 * Makes the caller the only one that holds a lock, among all processes. The operating system drops the lock with the process, so a
 * kill leaves nothing to clean up. It is a lock of SQLite, on a file that nothing is ever written to.
 *
 * @param file is made if it does not exist. Nothing else may open it in this process: to close a file drops the locks of its process.
 * @returns the lock, whose disposal gives it back; `null` if another one holds it
 * @throws errors of SQLite, such as for a full disk or a file system without locks
 */
export function lockFile(file: string): Disposable | null {
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(file, { timeout: 0 })
    // Nothing is ever written, so there is nothing to roll back, and no second file.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
  } catch (error) {
    connection?.close()
    if (isBusy(error)) return null
    throw error
  }
  const held = connection
  return {
    [Symbol.dispose]() {
      if (held.isOpen) held.close()
    },
  }
}
