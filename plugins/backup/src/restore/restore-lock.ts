import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile, NodekeepError } from '@nodekeep/plugin-sdk'
import { explainFullDisk } from '../create/free-space.ts'

/**
 * Makes this call the only one that prepares, plans or removes a restore of a node, in all processes. The lock ends
 * with the process.
 *
 * @param folder of all restores of the node, in the data folder; it is made if it does not exist
 * @throws NodekeepError CONFLICT while another one has the lock; INSUFFICIENT_STORAGE
 */
export function lockRestores(folder: string): Disposable {
  const lock = lockFile(makeFile(folder))
  if (lock !== null) return lock
  throw new NodekeepError(
    'CONFLICT',
    'Another restore of this node is being prepared, or waits for its confirmation. Let it end, or stop it, and try again.',
  )
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
