import { isNodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

/**
 * Whether a change that was begun took place, as far as the storage shows it.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is out of reach
 */
export async function hasHappened(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  const look = (path: string) => entryAt(mounts, intent.userUuid, path as UserPath)
  const entry = await look(intent.path)
  switch (intent.op) {
    case 'write':
      return entry?.type === 'file' && entry.revision === intent.revision
    case 'mkdir':
      return entry?.type === 'directory'
    case 'delete':
      return entry === null
    case 'move':
      if (entry === null) return false
      if (intent.revision !== undefined) return entry.revision === intent.revision
      return (await look(intent.source ?? intent.path)) === null
  }
}

/** What is at a path, or `null`. */
export async function entryAt(
  mounts: Mounts,
  userUuid: string,
  path: UserPath,
): Promise<StorageEntry | null> {
  const { backend, backendPath } = mounts.place(userUuid, path)
  try {
    return await backend.stat(backendPath)
  } catch (error) {
    // CONFLICT: a file is where a folder on the way should be.
    if (isNodekeepError(error) && (error.code === 'NOT_FOUND' || error.code === 'CONFLICT')) return null
    throw error
  }
}
