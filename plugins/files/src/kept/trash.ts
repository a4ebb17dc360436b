import {
  concurrently,
  type FileEntry,
  isNodekeepError,
  NodekeepError,
  nameOf,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'
import type { KeptEntry } from '../entries/kept-reader.ts'
import { entryIn, type Location } from '../mounts/mounts.ts'
import { makeDirectoryLocked } from '../operations/make-directory.ts'
import { putBack } from '../operations/put-back.ts'
import { stat } from '../operations/reading.ts'
import type { Scope } from '../operations/scope.ts'
import { checkPathLength, walkStored } from '../operations/walk.ts'
import { childOf, root, type UserPath, userPath } from '../paths/user-path.ts'
import { freeName } from './free-name.ts'
import {
  boundsOf,
  forget,
  goneError,
  idOf,
  keptEntry,
  lockOf,
  pageOf,
  placeOf,
  pointOf,
  removeKept,
  removeStored,
  takenError,
} from './kept-entries.ts'
import type { KeptPage, KeptPageOptions, TrashItem } from './kept-files.ts'
import { removeVersionsOf, removeVersionsOfGone } from './versions-of-gone.ts'

/** Names that are tried for an item whose path is taken. */
const mostNames = 1000

/** Entries that are moved, or items that are deleted, at a time. */
const stepsAtOnce = 16

/** Lists the trash of a user, the newest first. Items on storages that no mount has are left out. */
export async function listTrash(
  { journal, mounts, userUuid }: Scope,
  options: KeptPageOptions = {},
): Promise<KeptPage<TrashItem>> {
  const bounds = boundsOf(options)
  const found = (await journal.keptOf(userUuid)).trash(userUuid, bounds.limit + 1, bounds.before)
  const { rows, cursor } = pageOf(found, bounds)
  const items = rows.filter(isListed(mounts)).map(itemOf)
  return { items, cursor }
}

function isListed(mounts: Scope['mounts']) {
  return ({ storage }: KeptEntry): boolean => mounts.pointOfStorage(storage) !== null
}

function itemOf(kept: KeptEntry): TrashItem {
  const { path, at, maker, entry } = kept
  const { type, size, below: entries } = entry
  const deleted = new Date(at)
  return { id: idOf(kept), path, type, size, entries, deleted, ...(maker !== null && { maker }) }
}

/** Puts an item back, at a free name if something is at its path. */
export async function restoreItem(scope: Scope, id: string, destination?: UserPath): Promise<FileEntry> {
  const found = await trashItem(scope, id)
  if (destination === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be replaced.')
  const wanted = destination ?? formerPath(scope, found)
  if (destination !== undefined && !isOnStorage(scope, found, wanted)) {
    const message = `The item lies on another storage than "${wanted}". Restore it to its former path, then move it.`
    throw new NodekeepError('CONFLICT', message)
  }
  for (let number = 1; number <= mostNames; number += 1) {
    const path = number === 1 ? wanted : freeName(wanted, found.entry.type, number)
    if (await isRestoredAt(scope, found, path)) return stat(scope, path)
  }
  throw takenError(wanted)
}

/** The path at which an item was. It may be one of another mount now. */
function formerPath({ mounts }: Scope, { path, storage }: KeptEntry): UserPath {
  const point = pointOf(mounts, storage)
  const former = userPath(path)
  return mounts.pointOf(former) === point ? former : childOf(point, nameOf(former))
}

/** Whether a path is on the mount of an item. The one beside a mount, which might be free, is not. */
function isOnStorage({ mounts }: Scope, { storage }: KeptEntry, path: UserPath): boolean {
  return mounts.pointOf(path) === pointOf(mounts, storage)
}

/** Puts an item back at a path, at which nothing may be. */
export async function restoreItemAt(scope: Scope, item: KeptEntry, path: UserPath): Promise<void> {
  if (!(await isRestoredAt(scope, item, path))) throw takenError(path)
}

/** @returns false if something is at the path, or it is on another mount */
async function isRestoredAt(scope: Scope, item: KeptEntry, path: UserPath): Promise<boolean> {
  const { mounts, userUuid } = scope
  if (mounts.holdsMount(path) || !isOnStorage(scope, item, path)) return false
  const release = await scope.lock([path, lockOf(item)])
  try {
    // Another request may have restored it meanwhile.
    await trashItem(scope, idOf(item))
    if ((await mounts.entryAt(userUuid, path)) !== null) return false
    const from = placeOf(scope, item)
    const stored = await entryIn(from)
    if (stored === null) {
      await forget(scope, item)
      throw goneError()
    }
    await restoreLocked(scope, item, { from, stored, path })
    return true
  } finally {
    release()
  }
}

interface Restored {
  readonly from: Location
  readonly stored: StorageEntry
  readonly path: UserPath
}

async function restoreLocked(scope: Scope, item: KeptEntry, restored: Restored): Promise<void> {
  const { from, stored, path } = restored
  const isLonger = Buffer.byteLength(path) > Buffer.byteLength(item.path)
  const movesWhole = stored.type === 'file' || from.backend.supports.atomicFolders === true
  if (movesWhole && !isLonger) return restoreEntry(scope, item.entry.name, restored)
  const files: string[] = []
  const folders: string[] = []
  for await (const [below, { type }] of walkStored(from, stored)) {
    checkPathLength(`${item.path}${below}`, item.path, path)
    if (!movesWhole) (type === 'file' ? files : folders).push(below)
  }
  if (movesWhole) return restoreEntry(scope, item.entry.name, restored)
  for (const below of folders) {
    // The storage has not told yet whether a file is above the first one.
    await makeDirectoryLocked(scope, `${path}${below}` as UserPath, { isMissing: below !== '' })
  }
  await concurrently(files, stepsAtOnce, async (below) => {
    const place = { backend: from.backend, backendPath: `${from.backendPath}${below}` }
    const file = await entryIn(place)
    if (file === null) return
    const to = `${path}${below}` as UserPath
    await restoreEntry(scope, `${item.entry.name}${below}`, { from: place, stored: file, path: to })
  })
  await removeStored(from)
  await forget(scope, item)
}

/** @param restores the kept name, or the path of a file in an item */
async function restoreEntry(scope: Scope, restores: string, { from, stored, path }: Restored): Promise<void> {
  const intent = { op: 'move', staging: 'place', restores } as const
  await putBack(scope, { from, stored, path, intent }, { known: { source: stored } })
}

/** Deletes an item for good, and the versions of its files. */
export async function deleteItem(scope: Scope, id: string): Promise<void> {
  const item = await trashItem(scope, id)
  await removeKept(scope, item)
  await removeVersionsOf(scope, item.entry)
}

/** Deletes all items for good that a list has, and the versions of their files. Those on a storage that does not answer stay, and fail the call at its end. */
export async function emptyTrash(scope: Scope): Promise<void> {
  const { journal, mounts, userUuid } = scope
  let failure: unknown
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const items = (await journal.keptOf(userUuid)).trash(userUuid, 100, before)
    await concurrently(items.filter(isListed(mounts)), stepsAtOnce, (item) =>
      removeKept(scope, item).catch((error) => {
        if (!isNodekeepError(error)) throw error
        if (error.code !== 'NOT_FOUND') failure ??= error
      }),
    )
    const last = items.at(-1)
    if (last === undefined) break
    before = last.number
  }
  await removeVersionsOfGone(scope)
  if (failure !== undefined) throw failure
}

/** @throws NodekeepError NOT_FOUND */
async function trashItem(scope: Scope, id: string): Promise<KeptEntry> {
  const found = await keptEntry(scope, id)
  if (found.of !== null) throw goneError()
  return found
}
