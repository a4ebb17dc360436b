import type { StorageSnapshot } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import { openChild } from './folders/folder.ts'
import { linkTree } from './folders/link-tree.ts'
import { removeTree } from './folders/remove-tree.ts'
import type { OpenReadings } from './reading/open-readings.ts'
import { Tree } from './reading/tree.ts'

/**
 * Makes a second tree of hard links to the same files. The backend replaces files and never changes them, so the second
 * tree stays as it is.
 */
export async function takeSnapshot(
  { disk, root, staging }: Store,
  openReadings: OpenReadings,
  signal: AbortSignal,
): Promise<StorageSnapshot> {
  const name = staging.freshName('snapshot')
  await disk.mkdir(staging.at(name))
  try {
    const copy = await openChild(disk, staging, name)
    try {
      await linkTree(disk, root, copy, signal)
      signal.throwIfAborted()
    } catch (error) {
      copy.close()
      throw error
    }
    const tree = new Tree(disk, copy, openReadings)
    let released: Promise<void> | undefined
    return {
      list: (path) => tree.list(path),
      read: (path, options = {}) => tree.read(path, options),
      release() {
        if (released === undefined) copy.close()
        released ??= removeTree(disk, staging, name)
        return released
      },
    }
  } catch (error) {
    await removeTree(disk, staging, name)
    throw error
  }
}
