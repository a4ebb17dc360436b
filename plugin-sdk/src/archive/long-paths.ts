import { randomUUID } from 'node:crypto'
import { closeSync, constants, type Dirent, mkdirSync, openSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes of a path that every call takes. `PATH_MAX` of Linux is 4,096, with the NUL at its end. */
const maxBytes = 4000

/**
 * Calls `use` with a path to the same place that the system takes, however long the path is. On Linux, a long path starts at
 * a descriptor of a folder in its middle, which is made if it does not exist. On other systems the path stays as it is.
 */
export function withShortPath<Result>(path: string, use: (path: string) => Result): Result {
  if (process.platform !== 'linux' || Buffer.byteLength(path) <= maxBytes) return use(path)
  const [head, tail] = halves(path)
  mkdirSync(head, { recursive: true })
  const folder = openSync(head, constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    return withShortPath(`/proc/self/fd/${folder}${tail}`, use)
  } finally {
    closeSync(folder)
  }
}

/** Removes everything in a folder, also where its paths are longer than the system takes. The folder stays. */
export async function emptyFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    try {
      await removeEntry(folder, entry)
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException
      if (code !== 'ENAMETOOLONG' || path === undefined) throw error
      // An entry that is too deep moves up, where its path is short enough.
      await rename(halves(path)[0], join(folder, randomUUID()))
      return await emptyFolder(folder)
    }
  }
}

/**
 * Removes one file after the other. Node's own `rm` asks for all files of a folder at once, and whatever else the process does with
 * files waits until they are gone.
 */
async function removeEntry(folder: string, entry: Dirent): Promise<void> {
  const path = join(folder, entry.name)
  if (entry.isDirectory()) {
    for (const inner of await readdir(path, { withFileTypes: true })) await removeEntry(path, inner)
  }
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
}

/** Splits a long path before a slash. The first half is as long as the system takes. */
function halves(path: string): [head: string, tail: string] {
  const bytes = Buffer.from(path)
  const cut = bytes.lastIndexOf('/', maxBytes)
  return [bytes.toString('utf8', 0, cut), bytes.toString('utf8', cut)]
}
