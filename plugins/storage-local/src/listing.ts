import type { StorageEntry } from '@nodekeep/plugin-sdk'
import type { Disk } from './disk.ts'
import { entryOf } from './entry.ts'
import { type Folder, find } from './folder.ts'
import { sortedNames } from './sorted-names.ts'
import { SIDE_FOLDER, shownName } from './stored-names.ts'

/** So many entries are looked at together. */
const BATCH = 64

/**
 * The entries of an open folder, sorted by name. All names are needed before the first entry can be given; the rest
 * happens in batches, so that a folder of any size leaves the event loop to others.
 */
export async function* listing(disk: Disk, folder: Folder, isRoot: boolean): AsyncIterable<StorageEntry> {
  const names = await sortedNames(shownNames(disk, folder, isRoot))
  for (let start = 0; start < names.length; start += BATCH) {
    const batch = names.slice(start, start + BATCH)
    for (const entry of await Promise.all(batch.map((name) => look(disk, folder, name)))) {
      if (entry !== null) yield entry
    }
  }
}

async function* shownNames(disk: Disk, folder: Folder, isRoot: boolean): AsyncIterable<string[]> {
  for await (const portion of disk.names(folder.at('.'))) {
    const shown: string[] = []
    for (const stored of portion) {
      const name = shownName(stored)
      if (name !== null && !(isRoot && stored === SIDE_FOLDER)) shown.push(name)
    }
    yield shown
  }
}

/** Null for what has gone meanwhile, and for what is neither a file nor a folder. */
async function look(disk: Disk, folder: Folder, name: string): Promise<StorageEntry | null> {
  const found = await find(disk, folder, name)
  return found && entryOf(name, found.stats)
}
