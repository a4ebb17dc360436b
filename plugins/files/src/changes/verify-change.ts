import { isNodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { entryIn, type Location, type Mounts } from '../mounts/mounts.ts'
import { moveStored } from '../mounts/move-stored.ts'
import { withStorageLimit } from '../mounts/storage-limit.ts'
import type { UserPath } from '../paths/user-path.ts'

/**
 * Whether the storage shows that an intended change was applied. If it was not, what it has kept goes back to its path.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable or does not answer in time
 */
export function wasApplied(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  return withStorageLimit(compareWithStorage(intent, mounts))
}

async function compareWithStorage(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  const { userUuid, keptAs, restores } = intent
  const path = intent.path as UserPath
  const entry = await mounts.entryAt(userUuid, path)
  const source = intent.source as UserPath | undefined
  const restored = restores === undefined ? undefined : mounts.locateKept(userUuid, path, restores)
  const isAway = async () => {
    if (restored !== undefined) return (await entryIn(restored)) === null
    return source === undefined || (await mounts.entryAt(userUuid, source)) === null
  }
  if (await isShownBy(entry, intent, isAway)) {
    if (restored !== undefined) await removeCopied(restored)
    return true
  }
  if (keptAs === undefined) return false
  const kept = mounts.locateKept(userUuid, path, keptAs)
  if (await isKeptInstead(intent, entry, kept, mounts.locate(userUuid, path))) return true
  await removeEmptyAbove(keptAs, (name) => mounts.locateKept(userUuid, path, name))
  return false
}

/** @param isAway whether nothing is any more where a moved folder came from */
async function isShownBy(
  entry: StorageEntry | null,
  { op, revision }: ChangeIntent,
  isAway: () => Promise<boolean>,
): Promise<boolean> {
  switch (op) {
    case 'write':
      return entry?.type === 'file' && entry.revision === revision
    case 'mkdir':
      return entry?.type === 'directory'
    case 'delete':
      return entry === null
    case 'move':
      if (entry === null) return false
      return revision === undefined ? isAway() : entry.revision === revision
  }
}

/** Removes the source of a file that was put back, if its storage copies files to move them. */
async function removeCopied({ backend, backendPath }: Location): Promise<void> {
  if (backend.move === undefined && (await entryIn({ backend, backendPath })) !== null)
    await backend.remove(backendPath)
}

/**
 * Sees to what a change has kept that the storage does not show.
 *
 * @returns whether the change was applied nevertheless: something else is at the path of a deletion since
 */
async function isKeptInstead(
  { op, revision }: ChangeIntent,
  entry: StorageEntry | null,
  { backend, backendPath }: Location,
  { backendPath: formerPath }: Location,
): Promise<boolean> {
  const kept = await entryIn({ backend, backendPath })
  if (kept === null) return false
  if (entry === null) {
    await moveStored(backend, backendPath, formerPath, kept)
    return false
  }
  if (kept.type === 'directory') {
    if (backend.supports.atomicFolders === true) return op === 'delete'
    // Where no folder moves in one step, an empty one is made at the kept place before it goes. A restore would bring it a second time.
    if (op === 'delete' && entry.type === 'directory')
      await backend.remove(backendPath, { onlyIfEmpty: true }).catch(ignoreRefused)
    return false
  }
  if (op === 'delete' && entry.revision !== revision) return true
  // If the two are not surely the same file, a comparison finds the kept one.
  const isCopy = backend.move === undefined && kept.size === entry.size
  if (kept.revision === entry.revision || isCopy) await backend.remove(backendPath)
  return false
}

/**
 * Removes the folders in an item that its storage made for something that is not kept after all, while nothing is in them. A restore would bring
 * them.
 */
async function removeEmptyAbove(keptAs: string, locate: (name: string) => Location): Promise<void> {
  const names = keptAs.split('/')
  // The first name is that of the item.
  for (let count = names.length - 1; count > 1; count -= 1) {
    const { backend, backendPath } = locate(names.slice(0, count).join('/'))
    await backend.remove(backendPath, { onlyIfEmpty: true }).catch(ignoreRefused)
  }
}

/** A folder with something in it stays. So does an empty one that the storage does not remove: the change must not stay open for it. */
function ignoreRefused(error: unknown): void {
  if (!isNodekeepError(error) || error.code === 'SERVICE_UNAVAILABLE') throw error
}
