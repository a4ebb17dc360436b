import type { Store } from './changes/store.ts'
import { openChild } from './folders/folder.ts'
import { linkTree } from './folders/link-tree.ts'
import { removeTree } from './folders/remove-tree.ts'
import { Tree } from './reading/tree.ts'

/** A snapshot. Its release removes the tree. */
export interface Snapshot {
  readonly tree: Tree
  release(): Promise<void>
}

/**
 * Makes a second tree of hard links to the same files. The backend replaces files and never changes them, so the second
 * tree stays as it is.
 */
export async function takeSnapshot({ disk, root, staging }: Store, signal: AbortSignal): Promise<Snapshot> {
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
    return {
      tree: new Tree(disk, copy),
      async release() {
        copy.close()
        await removeTree(disk, staging, name)
      },
    }
  } catch (error) {
    await removeTree(disk, staging, name)
    throw error
  }
}
