import { join } from 'node:path'
import { lockFile } from './lock-file.ts'

/**
 * Makes the caller the only one that uses a folder which a plugin keeps outside of its own (`folders` of the manifest), among all
 * processes. The plugin holds the lock while it works. A restore holds it while it replaces what is in the folder, so that it never
 * takes the files of a node that runs. It is a {@link lockFile} at `.nodekeep/lock` in the folder.
 *
 * @returns the lock; `null` if another one holds it. Where there can be no lock, as in a folder without `.nodekeep`, on a full
 *   disk, or on a file system without locks, it returns one that keeps nobody out
 */
export function lockFolder(folder: string): Disposable | null {
  try {
    return lockFile(join(folder, '.nodekeep', 'lock'))
  } catch {
    return { [Symbol.dispose]() {} }
  }
}
