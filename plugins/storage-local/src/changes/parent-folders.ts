import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { openChild } from '../folders/folder.ts'
import type { Walked } from '../folders/walk.ts'

const maxAttempts = 100

/**
 * Repeats a change that others can spoil between its check and its last step, such as a rename into a folder that was
 * just removed.
 *
 * @param attempt returns null, or fails with the disk's ENOENT, when it has to be repeated
 * @throws NodekeepError SERVICE_UNAVAILABLE after 100 attempts
 */
export async function retryWhileChanging<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let count = 0; count < maxAttempts; count += 1) {
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (error) {
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  throw new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The folder was changed again and again during this change. Try again in a moment.',
  )
}

/** Makes the folders that a walk did not find. A crash in between leaves the first ones, empty. */
export async function makeMissing(disk: Disk, { folder, missing }: Walked): Promise<void> {
  let parent = folder
  try {
    for (const name of missing) {
      await disk.mkdir(parent.at(name)).catch(unlessExists)
      const made = await openChild(disk, parent, name)
      if (parent !== folder) parent.close()
      parent = made
    }
  } finally {
    if (parent !== folder) parent.close()
  }
}

/** Others may have made it meanwhile. Opening it tells whether it is a folder. */
function unlessExists(error: unknown): void {
  if (!isDiskError(error, 'EEXIST')) throw error
}
