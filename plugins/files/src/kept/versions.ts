import {
  type FileEntry,
  type FileReading,
  NodekeepError,
  nameOf,
  type StorageEntry,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import type { KeptEntry } from '../entries/kept-reader.ts'
import { entryIn, isMissing } from '../mounts/mounts.ts'
import { newKeptPlace } from '../operations/keeping.ts'
import { folderError } from '../operations/path-errors.ts'
import { putBack } from '../operations/put-back.ts'
import { stat } from '../operations/reading.ts'
import type { Scope } from '../operations/scope.ts'
import { existingEntry } from '../operations/transfer-checks.ts'
import type { UserPath } from '../paths/user-path.ts'
import {
  boundsOf,
  forget,
  goneError,
  idOf,
  keptEntry,
  lockOf,
  pageOf,
  placeOf,
  removeKept,
  takenError,
} from './kept-entries.ts'
import type { FileVersion, KeptPage, KeptPageOptions } from './kept-files.ts'

/** Lists the versions of the file at a path, the newest first. */
export async function listVersions(
  scope: Scope,
  path: UserPath,
  options: KeptPageOptions = {},
): Promise<KeptPage<FileVersion>> {
  const bounds = boundsOf(options)
  const file = await fileAt(scope, path)
  if (file === null) return { items: [], cursor: null }
  const reader = await scope.journal.keptOf(scope.userUuid)
  const found = reader.versions(scope.userUuid, file, bounds.limit + 1, bounds.before)
  const { rows, cursor } = pageOf(found, bounds)
  const items: FileVersion[] = []
  for (const row of rows) items.push(await versionOf(scope, row))
  return { items, cursor }
}

async function versionOf(scope: Scope, kept: KeptEntry): Promise<FileVersion> {
  const { at, maker, entry } = kept
  const { size, sha256, modified } = entry
  const revision = entry.revision ?? (await entryIn(placeOf(scope, kept)))?.revision ?? ''
  return {
    id: idOf(kept),
    size,
    revision,
    modified: new Date(modified ?? at),
    replaced: new Date(at),
    ...(maker !== null && { maker }),
    ...(sha256 !== null && { sha256 }),
  }
}

/** The version as a file at the path. */
export async function statVersion(scope: Scope, path: UserPath, id: string): Promise<FileReading['entry']> {
  const version = await versionAt(scope, path, id)
  const stored = await entryIn(placeOf(scope, version))
  if (stored === null) throw goneError()
  return versionAsFile(path, stored)
}

/** Opens a version. */
export async function readVersion(
  scope: Scope,
  path: UserPath,
  id: string,
  options?: StorageReadOptions,
): Promise<FileReading> {
  const { backend, backendPath } = placeOf(scope, await versionAt(scope, path, id))
  try {
    const { entry, content } = await backend.read(backendPath, options)
    return { entry: versionAsFile(path, entry), content }
  } catch (error) {
    throw isMissing(error) ? goneError(error) : error
  }
}

function versionAsFile(path: UserPath, entry: Omit<StorageEntry, 'created'>): FileReading['entry'] {
  const { type, size, modified, revision } = entry
  return { name: nameOf(path), path, type, size, modified, revision }
}

/** Makes a version a file of its own. */
export async function moveVersion(
  scope: Scope,
  { from, path }: { readonly from: UserPath; readonly path: UserPath },
  id: string,
): Promise<void> {
  const found = await versionAt(scope, from, id)
  const release = await scope.lock([path, lockOf(found)])
  try {
    const version = await versionAt(scope, from, id)
    if ((await scope.mounts.entryAt(scope.userUuid, path)) !== null) throw takenError(path)
    const place = placeOf(scope, version)
    const stored = await entryIn(place)
    if (stored === null) throw goneError()
    const intent = { op: 'write', size: stored.size, restores: version.entry.name } as const
    await putBack(
      scope,
      { from: place, stored, path, intent },
      { known: { source: stored, destination: null } },
    )
  } finally {
    release()
  }
}

/** Makes a version the content of its file again. The present content becomes a version. */
export async function restoreVersion(scope: Scope, path: UserPath, id: string): Promise<FileEntry> {
  return restoreLocked(scope, path, () => versionAt(scope, path, id))
}

/**
 * Makes a version the content of the file at a path, also if it is one of another file: those of a file that was moved over another one are
 * versions of that from then on.
 */
export async function restoreVersionAt(scope: Scope, path: UserPath, id: string): Promise<void> {
  await restoreLocked(scope, path, () => keptEntry(scope, id))
}

async function restoreLocked(
  scope: Scope,
  path: UserPath,
  find: () => Promise<KeptEntry>,
): Promise<FileEntry> {
  const { journal, userUuid } = scope
  const release = await scope.lock([path, lockOf(await find())])
  try {
    // It may be restored or deleted by now, and something else may be at the path.
    const version = await find()
    const from = placeOf(scope, version)
    if (from.backend !== scope.locate(path).backend || from.backend.supports.keepsReplaced !== true) {
      const message =
        'The storage cannot keep the present content of the file now. Save the version as another file.'
      throw new NodekeepError('CONFLICT', message)
    }
    const stored = await entryIn(from)
    if (stored === null) {
      await forget(scope, version)
      throw goneError()
    }
    const present = await existingEntry(scope, path)
    const created = (await journal.createdOf(userUuid, path, present)) ?? present.created
    const place = newKeptPlace(userUuid)
    const names = { restores: version.entry.name, keptAs: place.name }
    const intent = { op: 'write', size: stored.size, created, ...names } as const
    await putBack(
      scope,
      { from, stored, path, intent },
      { overwrite: true, keepReplacedAt: place.backendPath, known: { source: stored, destination: present } },
    )
    return await stat(scope, path)
  } finally {
    release()
  }
}

/** Deletes a version for good. */
export async function deleteVersion(scope: Scope, path: UserPath, id: string): Promise<void> {
  await removeKept(scope, await versionAt(scope, path, id))
}

/** @throws NodekeepError NOT_FOUND if the file at the path has no such version */
async function versionAt(scope: Scope, path: UserPath, id: string): Promise<KeptEntry> {
  const file = await fileAt(scope, path)
  const found = await keptEntry(scope, id)
  if (file === null || found.of !== file) throw goneError()
  return found
}

/**
 * The id of the file at a path; null if the index does not know it yet, so that it has no versions.
 *
 * @throws NodekeepError NOT_FOUND, or VALIDATION_ERROR for a folder
 */
async function fileAt(scope: Scope, path: UserPath): Promise<number | null> {
  if ((await stat(scope, path)).type === 'directory') throw folderError(path)
  const known = (await scope.journal.entriesOf(scope.userUuid)).at(scope.userUuid, path)
  return known?.type === 'file' ? known.id : null
}
