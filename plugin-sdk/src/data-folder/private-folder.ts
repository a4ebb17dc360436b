import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Makes the data folder, and in it an empty file that only the node's user may read. An existing file keeps its content.
 *
 * A new folder gets the mode 0700. An existing folder keeps its own mode, since it may be shared on purpose.
 *
 * @returns the file's path
 * @throws Error that names the folder that cannot be written
 */
export function preparePrivateFile(folder: string, name: string): string {
  const path = join(folder, name)
  try {
    makeFolder(folder)
    createOrRestrict(path)
  } catch (error) {
    throw unwritableFolder(folder, error)
  }
  return path
}

/** Makes a folder that only the account of the node may enter, whatever the mode of an existing one was. */
export function makePrivateFolder(path: string): void {
  makeFolder(path)
  chmodSync(path, 0o700)
}

/** Node's own recursive `mkdir` loops forever in an existing folder where nothing can be made, such as `/proc`. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(folder))) throw error
    makeFolder(dirname(folder))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
}

/**
 * An existing file is never opened here: this process may hold it as a database, and closing another descriptor
 * of it would drop SQLite's locks (POSIX locks belong to the process, not to the descriptor).
 */
function createOrRestrict(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(path, 0o600)
  }
}

/** Returns the error for a data folder that the node cannot write. */
export function unwritableFolder(folder: string, cause: unknown): Error {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return new Error(
      `The data folder ${folder} cannot be made (${code}): a file is in its place. Choose another one with --data.`,
      { cause },
    )
  }
  return new Error(
    `The data folder ${folder} cannot be written${code ? ` (${code})` : ''}. Give the node's user write access to it, or choose another one with --data.`,
    { cause },
  )
}
