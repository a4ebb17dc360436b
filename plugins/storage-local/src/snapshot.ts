import { setTimeout } from 'node:timers/promises'
import type { BackupOmission, HaltedSnapshot, PreparedSnapshot } from '@nodekeep/plugin-sdk'
import type { RecordedChanges } from './changes/recorded-changes.ts'
import type { Store } from './changes/store.ts'
import { type Folder, openChild } from './folders/folder.ts'
import { LinkedCopy } from './folders/linked-copy.ts'
import { removeTree } from './folders/remove-tree.ts'
import { Tree } from './reading/tree.ts'

/** Changes wait for the links that are still missing. If these were made in this time, they are few. In milliseconds. */
const maxLastPassMs = 50

/** Changes may come faster than they are linked again. Then they have to wait. */
const maxPasses = 8

/**
 * Files and folders that are linked while changes wait, however large the tree is. There are more if a large folder was moved
 * just before the halt. It is then linked while changes go on, and the halt comes later.
 */
const maxEntriesInHalt = 1000

/** A prepared snapshot links what changed at this interval, so that little is missing at the halt. In milliseconds. */
const catchUpEveryMs = 50

/** A snapshot. Its release removes the tree. */
export interface Snapshot {
  readonly tree: Tree
  readonly omitted: readonly BackupOmission[]
  readonly changed: readonly string[]
  release(): Promise<void>
}

/**
 * Makes a second tree of hard links to the same files. The backend replaces files and never changes them, so the second
 * tree stays as it is.
 *
 * The tree is linked while changes go on. What they changed is linked again, until little is left, and then from time to time
 * until changes are halted, and the rest is linked.
 */
export async function prepareSnapshot(
  { disk, root, staging, discards }: Store,
  changes: RecordedChanges,
  signal: AbortSignal,
): Promise<PreparedSnapshot<Snapshot>> {
  const name = staging.freshName('snapshot')
  const removed: string[] = []
  const setAside = async (path: string) => {
    const aside = staging.freshName('removed')
    await disk.rename(path, staging.at(aside))
    removed.push(aside)
  }
  const clear = async (folder?: Folder) => {
    recording.end()
    folder?.close()
    for (const each of [name, ...removed]) await removeTree(disk, staging, each)
  }
  await disk.mkdir(staging.at(name))
  const recording = changes.record()
  let folder: Folder | undefined
  try {
    folder = await openChild(disk, staging, name)
    const copy = new LinkedCopy(disk, root, folder, setAside, signal)
    const catchUp = () => copy.catchUp(recording.take())
    await copy.link()
    for (let passes = 0; passes < maxPasses; passes += 1) {
      const begun = performance.now()
      await catchUp()
      if (performance.now() - begun < maxLastPassMs) break
    }
    const discardRemoved = () => {
      for (const each of removed.splice(0)) discards.add(each)
    }
    const following = follow(() => catchUp().then(discardRemoved), signal)
    return {
      async halt(): Promise<HaltedSnapshot<Snapshot>> {
        await following.end()
        for (let passes = 0; ; passes += 1) {
          using held = new DisposableStack()
          held.use(await changes.halt(signal))
          const changed = recording.take()
          const maxEntries = passes === maxPasses ? Number.POSITIVE_INFINITY : maxEntriesInHalt
          if (await copy.catchUp(changed, maxEntries)) {
            const halt = held.move()
            return { fix, [Symbol.asyncDispose]: async () => halt.dispose() }
          }
          held.dispose()
          await copy.catchUp(changed)
        }
      },
      async release() {
        await following.end().catch(() => {})
        await clear(folder)
      },
    }

    async function fix(): Promise<Snapshot> {
      recording.end()
      discardRemoved()
      const taken = folder as Folder
      const changed = new Set<string>()
      return {
        tree: new Tree(disk, taken, (path) => changed.add(path)),
        omitted: copy.omitted(),
        get changed() {
          return [...changed]
        },
        async release() {
          taken.close()
          await removeTree(disk, staging, name)
        },
      }
    }
  } catch (error) {
    await clear(folder)
    throw error
  }
}

/** Repeats work until it is ended. `end` waits for the running work, and rejects if the work ever failed. */
function follow(work: () => Promise<void>, signal: AbortSignal) {
  const ended = new AbortController()
  const either = AbortSignal.any([ended.signal, signal])
  const running = (async () => {
    while (!either.aborted) {
      await setTimeout(catchUpEveryMs, undefined, { signal: either }).catch(() => {})
      if (!either.aborted) await work()
    }
  })()
  running.catch(() => {})
  return {
    end(): Promise<void> {
      ended.abort()
      return running
    },
  }
}
