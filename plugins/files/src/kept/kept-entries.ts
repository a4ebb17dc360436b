import { concurrently, NodekeepError } from '@nodekeep/plugin-sdk'
import type { KeptEntry } from '../entries/kept-reader.ts'
import { keptLock } from '../mounts/kept-folder.ts'
import { entryIn, type Location } from '../mounts/mounts.ts'
import { ignoreMissing } from '../operations/path-errors.ts'
import type { Scope } from '../operations/scope.ts'
import { walkStored } from '../operations/walk.ts'
import type { UserPath } from '../paths/user-path.ts'

/** Entries of a page, where the caller names no number. */
const defaultLimit = 100
const mostPerPage = 1000

/** Files of an item that are removed at a time. */
const removalsAtOnce = 16

/** The id of something kept is the text of its number. */
export function idOf({ number }: KeptEntry): string {
  return String(number)
}

/** @throws NodekeepError NOT_FOUND if it is kept no more */
export async function keptEntry({ journal, userUuid }: Scope, id: string): Promise<KeptEntry> {
  const number = /^\d{1,16}$/.test(id) ? Number(id) : 0
  const found = Number.isSafeInteger(number) ? (await journal.keptOf(userUuid)).get(userUuid, number) : null
  if (found === null) throw goneError()
  return found
}

export function goneError(cause?: unknown): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'This is not kept any more.', { cause })
}

export function takenError(path: UserPath): NodekeepError {
  return new NodekeepError('CONFLICT', `There is something at "${path}" already. Choose another path.`)
}

/**
 * The place of what is kept.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE if its storage is not there
 */
export function placeOf({ mounts, userUuid }: Scope, { storage, entry }: KeptEntry): Location {
  return mounts.locateKept(userUuid, pointOf(mounts, storage), entry.name)
}

/** The mount whose storage has what is kept. */
export function pointOf(mounts: Scope['mounts'], storage: string): UserPath {
  const point = mounts.pointOfStorage(storage)
  if (point !== null) return point
  const message = `It lies on the storage "${storage}", which the node does not use now.`
  throw new NodekeepError('SERVICE_UNAVAILABLE', message, { permanent: true })
}

/** The path of the lock of what is kept. */
export function lockOf({ entry }: KeptEntry): UserPath {
  return keptLock(entry.name)
}

/** Removes the files of what is kept, then its entry. After a crash between the two, a second call does the rest. */
export async function removeKept(scope: Scope, entry: KeptEntry): Promise<void> {
  const release = await scope.lock([lockOf(entry)])
  try {
    await removeLocked(scope, entry)
  } finally {
    release()
  }
}

/**
 * Removes what is kept, unless it is being restored or removed just now. It waits for no lock: the caller may hold one for which the
 * restore waits.
 *
 * @returns whether it was removed
 */
export async function removeKeptIfFree(scope: Scope, entry: KeptEntry): Promise<boolean> {
  const release = scope.tryLock([lockOf(entry)])
  if (release === null) return false
  try {
    await removeLocked(scope, entry)
    return true
  } finally {
    release()
  }
}

async function removeLocked(scope: Scope, entry: KeptEntry): Promise<void> {
  // It may be back at its path since.
  await keptEntry(scope, idOf(entry))
  await removeStored(placeOf(scope, entry))
  await forget(scope, entry)
}

/** Removes a file, or a folder with everything in it, file by file where its storage has no step for that. */
export async function removeStored({ backend, backendPath }: Location): Promise<void> {
  const remove = (path: string) => backend.remove(`${backendPath}${path}`).catch(ignoreMissing)
  const entry = backend.supports.atomicFolders ? null : await entryIn({ backend, backendPath })
  if (entry?.type === 'directory') {
    const files: string[] = []
    const folders: string[] = []
    for await (const [path, { type }] of walkStored({ backend, backendPath }, entry))
      (type === 'file' ? files : folders).push(path)
    await concurrently(files, removalsAtOnce, remove)
    // A folder comes before those in it.
    for (const folder of folders.slice(1).reverse()) await remove(folder)
  }
  await remove('')
}

/** Takes note that the files of what is kept are gone. */
export async function forget({ journal }: Scope, { number }: KeptEntry): Promise<void> {
  await journal.index({ kind: 'forget-kept', number })
}

/** The part of a list that a caller asks for. */
interface PageBounds {
  readonly before: number
  readonly limit: number
}

/** @throws NodekeepError VALIDATION_ERROR */
export function boundsOf({ cursor, limit = defaultLimit }: { cursor?: string; limit?: number }): PageBounds {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > mostPerPage)
    throw new NodekeepError('VALIDATION_ERROR', `The limit must be a whole number from 1 to ${mostPerPage}.`)
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor)
  if (cursor !== undefined && !(/^\d{1,16}$/.test(cursor) && Number.isSafeInteger(before)))
    throw new NodekeepError('VALIDATION_ERROR', 'The cursor is none of this list. Begin without one.')
  return { before, limit }
}

/** @param rows one more than the page has, if there are more */
export function pageOf(
  rows: readonly KeptEntry[],
  { limit }: PageBounds,
): { rows: readonly KeptEntry[]; cursor: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, cursor: rows.length > limit && last !== undefined ? idOf(last) : null }
}
