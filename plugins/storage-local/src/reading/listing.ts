import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StorageEntry } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, type Found, find, findSync } from '../folders/folder.ts'
import { shownName, stagingFolderName } from '../folders/stored-names.ts'
import { entryOf } from './entry.ts'

/** Entries that are found together. */
const batchEntries = 64

/** Finding entries without a thread may hold up the event loop for this time, in milliseconds. */
const maxTurnMs = 4

/**
 * Yields the entries of an open folder in batches, so that a folder of any size leaves the event loop to others.
 *
 * Finding an entry takes less time than handing the work to a thread if the system has the entry in its memory. A batch
 * that takes too long may mean that it does not. Threads then find the next batch.
 */
export async function* listing(
  disk: Disk,
  folder: Folder,
  parts: AsyncIterable<readonly string[]>,
): AsyncIterable<StorageEntry> {
  let quick = true
  for await (const names of parts) {
    for (let start = 0; start < names.length; ) {
      const batch = names.slice(start, start + batchEntries)
      const found: (Found | null)[] = quick
        ? await findInTurn(disk, folder, batch)
        : await Promise.all(batch.map((name) => find(disk, folder, name)))
      quick = !quick || found.length === batch.length
      start += found.length
      for (const [index, one] of found.entries()) {
        const entry = one && entryOf(batch[index] ?? '', one.stats)
        // Null: removed meanwhile, or neither a file nor a folder.
        if (entry !== null) yield entry
      }
    }
  }
}

/** Finds at least one entry, and as many as the time of a turn allows. */
async function findInTurn(disk: Disk, folder: Folder, names: readonly string[]): Promise<(Found | null)[]> {
  await nextTurn()
  const deadline = performance.now() + maxTurnMs
  const found: (Found | null)[] = []
  for (const name of names) {
    found.push(findSync(disk, folder, name))
    if (performance.now() > deadline) break
  }
  return found
}

/** Yields the names after one in portions, in no order. None if the folder was removed since it was opened. */
export async function* shownNames(
  disk: Disk,
  folder: Folder,
  isRoot: boolean,
  after: string,
): AsyncIterable<string[]> {
  try {
    for await (const portion of disk.names(folder.at('.'))) {
      const shown: string[] = []
      for (const stored of portion) {
        const name = shownName(stored)
        if (name !== null && name > after && !(isRoot && stored === stagingFolderName)) shown.push(name)
      }
      yield shown
    }
  } catch (error) {
    if (!isDiskError(error, 'ENOENT')) throw error
  }
}
