import {
  type FileEntry,
  type FileReading,
  isNodekeepError,
  nameOf,
  type StorageEntry,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import { createdIf } from '../entries/created-date.ts'
import type { UserPath } from '../paths/user-path.ts'
import { explain, folderError, forRead, ignoreMissing } from './path-errors.ts'
import type { Scope } from './scope.ts'

/** Opens a file. */
export async function read(scope: Scope, path: UserPath, options?: StorageReadOptions): Promise<FileReading> {
  if (scope.mounts.holdsMount(path)) throw folderError(path)
  const { backend, backendPath } = scope.locate(path)
  try {
    const { entry, content } = await backend.read(backendPath, options)
    const { type, size, modified, revision } = entry
    return { entry: { name: nameOf(path), path, type, size, modified, revision }, content }
  } catch (error) {
    throw await explain(scope, path, error, 'file')
  }
}

/**
 * The entry at a path.
 *
 * @throws NodekeepError NOT_FOUND, SERVICE_UNAVAILABLE
 */
export async function stat(scope: Scope, path: UserPath): Promise<FileEntry> {
  const { mounts } = scope
  if (mounts.isPoint(path)) return statMount(scope, path)
  if (mounts.holdsMount(path)) return (await backendFolder(scope, path)) ?? mountEntry(scope, path)
  const { backend, backendPath } = scope.locate(path)
  return fileEntry(scope, path, await forRead(path, () => backend.stat(backendPath)))
}

/** An entry of a backend as its user sees it. */
export async function fileEntry(scope: Scope, path: UserPath, entry: StorageEntry): Promise<FileEntry> {
  const { journal, userUuid } = scope
  const known = entry.type === 'file' ? (await journal.entriesOf(userUuid)).at(userUuid, path) : null
  const created = createdIf(known, entry)
  const sha256 = known?.revision === entry.revision ? known.sha256 : null
  return {
    ...entry,
    name: nameOf(path),
    path,
    created: created ?? entry.created,
    ...(sha256 !== null && { sha256 }),
  }
}

/** The entry of a folder that exists because it is a mount, or has one below it. */
export function mountEntry({ since }: Scope, path: UserPath): FileEntry {
  return {
    name: nameOf(path),
    path,
    type: 'directory',
    size: 0,
    modified: since,
    created: since,
    revision: 'mount',
  }
}

/** Makes the user's folder in the backend at the first stat. */
async function statMount(scope: Scope, path: UserPath): Promise<FileEntry> {
  const { backend, backendPath } = scope.locate(path)
  const statFolder = () => backend.stat(backendPath)
  const entry = await statFolder().catch(async (error) => {
    ignoreMissing(error)
    await backend.makeDirectory(backendPath)
    return statFolder()
  })
  return path === '/' ? fileEntry(scope, path, entry) : mountEntry(scope, path)
}

/** A folder of a backend that has a mount below it, or `null` when the folder exists only because of the mount. */
async function backendFolder(scope: Scope, path: UserPath): Promise<FileEntry | null> {
  try {
    const { backend, backendPath } = scope.locate(path)
    const entry = await backend.stat(backendPath)
    return entry.type === 'directory' ? await fileEntry(scope, path, entry) : null
  } catch (error) {
    if (isNodekeepError(error)) return null
    throw error
  }
}
