import { type FileEntry, isNodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { nameOf, type UserPath } from '../paths/user-path.ts'
import { looking } from './explain.ts'
import type { Scope } from './scope.ts'

/** An entry of a backend as its user sees it. */
export async function fileEntry(scope: Scope, path: UserPath, entry: StorageEntry): Promise<FileEntry> {
  const known =
    entry.type === 'file' ? await scope.journal.createdOf(scope.userUuid, path, entry.revision) : null
  return { ...entry, name: nameOf(path), path, created: known ?? entry.created }
}

/** A folder that is there because a mount is, or is on the way to one. */
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

/**
 * What is at a path.
 *
 * @throws NodekeepError NOT_FOUND, SERVICE_UNAVAILABLE
 */
export async function stat(scope: Scope, path: UserPath): Promise<FileEntry> {
  const { mounts } = scope
  if (mounts.isPoint(path)) return statMount(scope, path)
  if (mounts.holdsMount(path)) return (await folderAt(scope, path)) ?? mountEntry(scope, path)
  const { backend, backendPath } = scope.place(path)
  return fileEntry(scope, path, await looking(path, () => backend.stat(backendPath)))
}

/** The user's folder in a backend is made when it is first looked at. */
async function statMount(scope: Scope, path: UserPath): Promise<FileEntry> {
  const { backend, backendPath } = scope.place(path)
  const look = () => backend.stat(backendPath)
  const entry = await look().catch(async (error) => {
    if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
    await backend.makeDirectory(backendPath)
    return look()
  })
  return path === '/' ? fileEntry(scope, path, entry) : mountEntry(scope, path)
}

/** A folder of the backend that leads to a mount, or `null` when only the mount makes it. */
async function folderAt(scope: Scope, path: UserPath): Promise<FileEntry | null> {
  try {
    const { backend, backendPath } = scope.place(path)
    const entry = await backend.stat(backendPath)
    return entry.type === 'directory' ? await fileEntry(scope, path, entry) : null
  } catch (error) {
    if (isNodekeepError(error)) return null
    throw error
  }
}
