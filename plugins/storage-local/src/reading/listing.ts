import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StorageEntry } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { type Folder, type Found, find, findSync } from '../folders/folder.ts'
import { shownName, sideFolder } from '../folders/stored-names.ts'
import { entryOf } from './entry.ts'
import { sortedNames } from './sorted-names.ts'

/** So many entries are looked at together. */
const BATCH = 64

/** Looking without a wait may hold up others this long, in milliseconds. */
const turnMs = 4

/**
 * The entries of an open folder, sorted by name. All names are needed before the first entry can be given; the rest
 * happens in batches, so that a folder of any size leaves the event loop to others.
 *
 * Looking at an entry takes less time than having another thread look, as long as the system has it in memory. A batch
 * that takes too long may mean that it hasn't; then other threads do the next one.
 */
export async function* listing(disk: Disk, folder: Folder, isRoot: boolean): AsyncIterable<StorageEntry> {
  const names = await sortedNames(shownNames(disk, folder, isRoot))
  let quick = true
  for (let start = 0; start < names.length; ) {
    const batch = names.slice(start, start + BATCH)
    const found: (Found | null)[] = quick
      ? await lookInTurn(disk, folder, batch)
      : await lookAside(disk, folder, batch)
    quick = !quick || found.length === batch.length
    start += found.length
    for (const [index, one] of found.entries()) {
      const entry = one && entryOf(batch[index] ?? '', one.stats)
      // Null: gone meanwhile, or neither a file nor a folder.
      if (entry !== null) yield entry
    }
  }
}

/** Looks at as many as the time of a turn allows, and at one at least. */
async function lookInTurn(disk: Disk, folder: Folder, names: readonly string[]): Promise<(Found | null)[]> {
  await nextTurn()
  const deadline = performance.now() + turnMs
  const found: (Found | null)[] = []
  for (const name of names) {
    found.push(findSync(disk, folder, name))
    if (performance.now() > deadline) break
  }
  return found
}

function lookAside(disk: Disk, folder: Folder, names: readonly string[]): Promise<(Found | null)[]> {
  return Promise.all(names.map((name) => find(disk, folder, name)))
}

async function* shownNames(disk: Disk, folder: Folder, isRoot: boolean): AsyncIterable<string[]> {
  for await (const portion of disk.names(folder.at('.'))) {
    const shown: string[] = []
    for (const stored of portion) {
      const name = shownName(stored)
      if (name !== null && !(isRoot && stored === sideFolder)) shown.push(name)
    }
    yield shown
  }
}
