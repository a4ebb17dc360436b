import { lockName, restoreFolderName } from '../folders/stored-names.ts'
import { storageIdName } from '../watching/storage-id.ts'
import { undoReplacement } from './replacement.ts'
import type { Store } from './store.ts'

/** Names that are no unfinished work. */
const kept: ReadonlySet<string> = new Set([lockName, storageIdName, restoreFolderName])

/**
 * Cleans up after a process that ended too soon: undoes incomplete replacements, then begins to remove everything else
 * in the staging folder, which may take long. What restores keep there stays.
 */
export async function recover(store: Store): Promise<void> {
  const { disk, staging, syncs, discards } = store
  const leftovers: string[] = []
  for await (const portion of disk.names(staging.at('.'))) {
    leftovers.push(...portion.filter((name) => !kept.has(name)))
  }
  const removable: string[] = []
  for (const name of leftovers) {
    const wasUndone = await undoReplacement(store, name)
    removable.push(wasUndone ? await renameUndone(store, name) : name)
  }
  await syncs.sync(staging)
  for (const name of removable) discards.add(name)
}

/** Renames the folder of an undone replacement, so that the next start does not undo it a second time. */
async function renameUndone({ disk, staging }: Store, name: string): Promise<string> {
  const renamed = staging.freshName('removed')
  await disk.rename(staging.at(name), staging.at(renamed))
  return renamed
}
