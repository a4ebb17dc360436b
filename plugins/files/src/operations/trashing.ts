import { concurrently, isNodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { moveStored } from '../mounts/move-stored.ts'
import type { UserPath } from '../paths/user-path.ts'
import { type KeptPlace, newKeptPlace, placeWithin } from './keeping.ts'
import { forChange, ignoreMissing } from './path-errors.ts'
import type { Scope } from './scope.ts'
import { deepestFirst, treeAt } from './walk.ts'

/** Entries that are moved at a time. */
const movesAtOnce = 16

/**
 * Moves a file, or a folder with everything in it, into the trash, as one item. The caller holds the lock of the path. Where a storage
 * moves no folder in one step, the journal knows of each entry where it is.
 */
export async function moveToTrash(scope: Scope, path: UserPath, entry: StorageEntry): Promise<void> {
  const place = newKeptPlace(scope.userUuid)
  const { backend } = scope.locate(path)
  if (entry.type === 'file' || backend.supports.atomicFolders) return moveEntry(scope, path, entry, place)
  const placeOf = (inner: UserPath) => placeWithin(place, inner.slice(path.length))
  const { files, folders } = await treeAt(scope, path, entry)
  await concurrently(files, movesAtOnce, async (file) => {
    const found = await scope.mounts.entryAt(scope.userUuid, file.path)
    // Another program may remove one meanwhile.
    if (found !== null) await moveEntry(scope, file.path, found, placeOf(file.path)).catch(ignoreMissing)
  })
  for (const level of deepestFirst(folders)) {
    await concurrently(level, movesAtOnce, (folder) =>
      removeEmptied(scope, folder, placeOf(folder)).catch(ignoreMissing),
    )
  }
}

/** Moves an entry in one step, and records it. */
async function moveEntry(scope: Scope, path: UserPath, entry: StorageEntry, place: KeptPlace): Promise<void> {
  const { backend, backendPath } = scope.locate(path)
  const { type, size, revision } = entry
  const facts = type === 'file' ? { size, revision } : {}
  await recordDeletion(scope, path, { ...facts, keptAs: place.name }, () =>
    moveStored(backend, backendPath, place.backendPath, entry),
  )
}

/**
 * Removes a folder whose content was moved, with the entries in it that listings do not show, such as links. Everything else that another
 * program has added meanwhile stays, with its folder.
 */
async function removeEmptied(scope: Scope, folder: UserPath, place: KeptPlace): Promise<void> {
  const { backend, backendPath } = scope.locate(folder)
  await recordDeletion(scope, folder, { keptAs: place.name }, async () => {
    // An empty one is kept, too.
    await backend.makeDirectory(place.backendPath)
    try {
      await backend.remove(backendPath, { onlyIfEmpty: true })
    } catch (error) {
      if (!isNodekeepError(error) || error.code !== 'CONFLICT') throw error
      for await (const _entry of backend.list(backendPath)) throw error
      await backend.remove(backendPath)
    }
  })
}

async function recordDeletion(
  { userUuid, origin, recorder }: Scope,
  path: UserPath,
  facts: Pick<ChangeIntent, 'keptAs' | 'size' | 'revision'>,
  step: () => Promise<void>,
): Promise<void> {
  await forChange(path, () => recorder.record({ userUuid, op: 'delete', path, ...facts, ...origin }, step))
}
