import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Makes the names in a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Makes a folder that only the node's account may enter, and the folders above it, so that they survive a power cut. A folder that
 * exists stays as it is.
 *
 * @returns the uppermost folder that was made; `null` if the folder was there
 */
export async function makeFolder(path: string): Promise<string | null> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 })
  if (made === undefined) return null
  for (let at = resolve(path); at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at))
  return made
}
