import type { BackupOmission } from '@nodekeep/plugin-sdk'
import type { RecordedChanges } from './changes/recorded-changes.ts'
import type { Store } from './changes/store.ts'
import { openChild } from './folders/folder.ts'
import { LinkedCopy } from './folders/linked-copy.ts'
import { removeTree } from './folders/remove-tree.ts'
import { Tree } from './reading/tree.ts'

/** Changes wait for the links that are still missing. If these were made in this time, they are few. In milliseconds. */
const maxLastPassMs = 50

/** Changes beside the linking may be so many that there are always more. Then they have to wait. */
const maxPasses = 8

/** A snapshot. Its release removes the tree. */
interface Snapshot {
  readonly tree: Tree
  readonly omitted: readonly BackupOmission[]
  release(): Promise<void>
}

/**
 * Makes a second tree of hard links to the same files. The backend replaces files and never changes them, so the second
 * tree stays as it is.
 *
 * The tree is linked while changes go on. What they changed is linked again, until little is left. Then changes halt, the rest
 * is linked, and `atMoment` is called.
 */
export async function takeSnapshot(
  { disk, root, staging, discards }: Store,
  changes: RecordedChanges,
  atMoment: () => Promise<void>,
  signal: AbortSignal,
): Promise<Snapshot> {
  const name = staging.freshName('snapshot')
  const removed: string[] = []
  const setAside = async (path: string) => {
    const aside = staging.freshName('removed')
    await disk.rename(path, staging.at(aside))
    removed.push(aside)
  }
  const clear = async (...names: string[]) => {
    for (const each of names) await removeTree(disk, staging, each)
  }
  await disk.mkdir(staging.at(name))
  const recording = changes.record()
  try {
    const folder = await openChild(disk, staging, name)
    try {
      const copy = new LinkedCopy(disk, root, folder, setAside, signal)
      await copy.link()
      for (let passes = 0; passes < maxPasses; passes += 1) {
        const begun = performance.now()
        await copy.catchUp(recording.take())
        if (performance.now() - begun < maxLastPassMs) break
      }
      await changes.halt(async () => {
        await copy.catchUp(recording.take())
        await atMoment()
      }, signal)
      for (const each of removed) discards.add(each)
      return {
        tree: new Tree(disk, folder),
        omitted: copy.omitted(),
        async release() {
          folder.close()
          await clear(name)
        },
      }
    } catch (error) {
      folder.close()
      throw error
    }
  } catch (error) {
    await clear(name, ...removed)
    throw error
  } finally {
    recording.end()
  }
}
