import type { StorageSnapshot } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import type { Disk } from './disk/disk.ts'
import { isDiskError } from './disk/disk-errors.ts'
import { type Folder, openChild } from './folders/folder.ts'
import { removeTree } from './folders/removal.ts'
import { createRoot } from './folders/root.ts'
import { SIDE_FOLDER } from './folders/stored-names.ts'
import type { Readings } from './reading/readings.ts'
import { listIn, readIn } from './reading/tree.ts'

/** So many entries are linked together. */
const BATCH = 64

/**
 * Makes a second tree of hard links to the same files. Our own writes put new files in the place of old ones and never
 * change a file, so this tree stays as it is.
 */
export async function takeSnapshot(
  { disk, root, side }: Store,
  readings: Readings,
  signal: AbortSignal,
): Promise<StorageSnapshot> {
  const name = side.freshName('snapshot')
  await disk.mkdir(side.at(name))
  try {
    const farm = await openChild(disk, side, name)
    try {
      await linkAll(disk, root, farm, signal, true)
      signal.throwIfAborted()
    } catch (error) {
      farm.close()
      throw error
    }
    const farmRoot = createRoot(disk, farm)
    const tree = { disk, root: farmRoot, readings }
    let released: Promise<void> | undefined
    return {
      list: (path) => listIn(tree, path),
      read: (path, options = {}) => readIn(tree, path, options),
      release() {
        if (released === undefined) farmRoot.close()
        released ??= removeTree(disk, side, name)
        return released
      },
    }
  } catch (error) {
    await removeTree(disk, side, name)
    throw error
  }
}

async function linkAll(
  disk: Disk,
  from: Folder,
  to: Folder,
  signal: AbortSignal,
  isRoot = false,
): Promise<void> {
  for await (const portion of disk.names(from.at('.'))) {
    const names = isRoot ? portion.filter((name) => name !== SIDE_FOLDER) : portion
    for (let start = 0; start < names.length; start += BATCH) {
      signal.throwIfAborted()
      await Promise.all(
        names.slice(start, start + BATCH).map((name) => linkOne(disk, from, to, name, signal)),
      )
    }
  }
}

/** What is neither a file nor a folder is left out, and so is what another program removes meanwhile. */
async function linkOne(
  disk: Disk,
  from: Folder,
  to: Folder,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const stats = await disk.lstat(from.at(name))
    if (stats.isFile()) await disk.link(from.at(name), to.at(name))
    else if (stats.isDirectory()) await linkFolder(disk, from, to, name, signal)
  } catch (error) {
    if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
  }
}

async function linkFolder(
  disk: Disk,
  from: Folder,
  to: Folder,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const source = await openChild(disk, from, name)
  try {
    await disk.mkdir(to.at(name))
    const copy = await openChild(disk, to, name)
    try {
      await linkAll(disk, source, copy, signal)
    } finally {
      copy.close()
    }
  } finally {
    source.close()
  }
}
