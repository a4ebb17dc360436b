import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { isDiskError } from '../disk/disk-errors.ts'
import type { StagingFolder } from '../folders/staging-folder.ts'

/** The name of the file in the staging folder that names the storage. */
export const storageIdName = 'storage-id'

/**
 * Returns the id of the files below a root, and makes one if they have none. An empty folder, where a disk is not mounted, has
 * another name than the disk.
 */
export async function storageIdOf(staging: StagingFolder): Promise<string> {
  const file = staging.at(storageIdName)
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isDiskError(error, 'ENOENT')) return ''
    throw error
  })
  if (/^[0-9a-f-]{36}$/.test(known)) return known
  const id = randomUUID()
  await writeFile(file, id, { mode: 0o600, flush: true })
  return id
}
