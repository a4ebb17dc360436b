import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { explainFullDisk } from '../create/free-space.ts'

/** SQLite's result code for a lock that another connection holds: https://www.sqlite.org/rescode.html */
const busy = 5

/**
 * Makes this call the only one that prepares, plans or removes a restore of a node, in all processes. The operating system drops
 * the lock with the process, so a kill leaves nothing to clean up.
 *
 * @param folder of all restores of the node, in the data folder; it is made if it does not exist
 * @throws NodekeepError CONFLICT while another one has the lock; INSUFFICIENT_STORAGE
 */
export function lockRestores(folder: string): Disposable {
  const file = makeFile(folder)
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(file, { timeout: 0 })
    // Nothing is ever written, so there is nothing to roll back, and no second file.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
  } catch (error) {
    connection?.close()
    const { errcode } = error as { readonly errcode?: unknown }
    if (typeof errcode !== 'number' || (errcode & 0xff) !== busy) throw error
    throw new NodekeepError(
      'CONFLICT',
      'Another restore of this node is being prepared, or waits for its confirmation. Let it end, or stop it, and try again.',
      { cause: error },
    )
  }
  const held = connection
  return {
    [Symbol.dispose]() {
      if (held.isOpen) held.close()
    },
  }
}

/** The file is never opened but by SQLite: to close it would drop a lock that this process has. */
function makeFile(folder: string): string {
  const file = join(folder, 'lock')
  for (const make of [
    () => mkdirSync(folder, { mode: 0o700 }),
    () => closeSync(openSync(file, 'wx', 0o600)),
  ]) {
    try {
      make()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainFullDisk(error, 'this restore')
    }
  }
  return file
}
