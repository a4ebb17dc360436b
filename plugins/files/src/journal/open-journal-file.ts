import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { applySchema } from './schema.ts'

/**
 * Opens the one connection that writes. A new file is for the node's own account only.
 *
 * @throws Error with one line for a person
 */
export function openJournalFile(file: string): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    makePrivateFile(file)
    connection = new DatabaseSync(file, { timeout: 5000 })
    connection.exec('PRAGMA journal_mode = WAL')
    // Only other systems than Linux know these two; there a plain sync stops at the disk's own memory.
    connection.exec('PRAGMA fullfsync = ON')
    connection.exec('PRAGMA checkpoint_fullfsync = ON')
    applySchema(connection)
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
 * Closing any descriptor of a file that SQLite has open drops SQLite's locks, so that this must only ever touch a
 * file that was not there.
 */
function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
