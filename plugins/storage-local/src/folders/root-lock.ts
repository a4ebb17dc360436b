import { lockFile } from '@nodekeep/plugin-sdk'

/** The name of the lock's file in the staging folder. */
export const lockName = 'lock'

/**
 * Makes this process the only one that uses a storage folder: two processes would remove each other's unfinished files.
 *
 * @param file in a folder that only the node changes
 * @returns the lock, `null` if another process has it
 */
export function lockRoot(file: string): Disposable | null {
  try {
    return lockFile(file)
  } catch {
    // A full disk, and a file system without locks, must not keep the node from its files.
    return { [Symbol.dispose]() {} }
  }
}
