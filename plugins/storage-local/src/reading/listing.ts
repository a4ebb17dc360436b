import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StorageEntry, StorageListOptions } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { type Folder, type Found, find, findSync } from '../folders/folder.ts'
import { shownName, stagingFolderName } from '../folders/stored-names.ts'
import { entryOf } from './entry.ts'

/** Entries that are found together. */
const batchEntries = 64

/** Finding entries without a thread may hold up the event loop for this time, in milliseconds. */
const maxTurnMs = 4

/** Names that are merged in one turn of the event loop. */
const mergedPerTurn = 16_384

/**
 * Yields the entries of an open folder, sorted by name. The first entry needs all names; the rest happens in batches, so
 * that a folder of any size leaves the event loop to others.
 *
 * Finding an entry takes less time than handing the work to a thread if the system has the entry in its memory. A batch
 * that takes too long may mean that it does not. Threads then find the next batch.
 */
export async function* listing(
  disk: Disk,
  folder: Folder,
  isRoot: boolean,
  { after = '' }: StorageListOptions = {},
): AsyncIterable<StorageEntry> {
  const names = await sortedNames(shownNames(disk, folder, isRoot, after))
  let quick = true
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

async function* shownNames(
  disk: Disk,
  folder: Folder,
  isRoot: boolean,
  after: string,
): AsyncIterable<string[]> {
  for await (const portion of disk.names(folder.at('.'))) {
    const shown: string[] = []
    for (const stored of portion) {
      const name = shownName(stored)
      if (name !== null && name > after && !(isRoot && stored === stagingFolderName)) shown.push(name)
    }
    yield shown
  }
}

/**
 * Sorts names that come in portions by their UTF-16 code units, each name once. Sorting a hundred thousand names at once
 * would hold up the event loop, so the portions are sorted one by one and merged in turns.
 */
export async function sortedNames(portions: AsyncIterable<string[]>): Promise<string[]> {
  let runs: string[][] = []
  for await (const portion of portions) runs.push(portion.sort())
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let index = 0; index < runs.length; index += 2) {
      longer.push(await merge(runs[index] ?? [], runs[index + 1] ?? []))
    }
    runs = longer
  }
  return runs[0] === undefined ? [] : merge(runs[0], [])
}

async function merge(left: readonly string[], right: readonly string[]): Promise<string[]> {
  const merged: string[] = []
  let [leftIndex, rightIndex, last] = [0, 0, null as string | null]
  for (let count = 1; leftIndex < left.length || rightIndex < right.length; count += 1) {
    const [a, b] = [left[leftIndex], right[rightIndex]]
    const takesLeft = b === undefined || (a !== undefined && a <= b)
    const name = (takesLeft ? a : b) as string
    if (takesLeft) leftIndex += 1
    else rightIndex += 1
    if (name !== last) merged.push(name)
    last = name
    if (count % mergedPerTurn === 0) await nextTurn()
  }
  return merged
}
