import type { StorageSnapshot } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import { openChild } from './folders/folder.ts'
import { linkTree } from './folders/linked-copy.ts'
import { removeTree } from './folders/removal.ts'
import { createRoot } from './folders/root.ts'
import type { Readings } from './reading/readings.ts'
import { RecentLooks } from './reading/recent-looks.ts'
import { listIn, readIn } from './reading/tree.ts'

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
    const farmRoot = createRoot(disk, await openChild(disk, side, name))
    try {
      await linkTree(disk, root, farmRoot, signal)
      signal.throwIfAborted()
    } catch (error) {
      farmRoot.close()
      throw error
    }
    const tree = { disk, root: farmRoot, readings, looks: new RecentLooks() }
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
