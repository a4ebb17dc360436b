import type { ChangeIntent } from '../journal/change.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { withStorageLimit } from '../mounts/storage-limit.ts'
import type { UserPath } from '../paths/user-path.ts'

/**
 * Whether the storage shows that an intended change was applied.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable or does not answer in time
 */
export function wasApplied(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  return withStorageLimit(compareWithStorage(intent, mounts))
}

async function compareWithStorage(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  const entryAt = (path: string) => mounts.entryAt(intent.userUuid, path as UserPath)
  const entry = await entryAt(intent.path)
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
      return (await entryAt(intent.source ?? intent.path)) === null
  }
}
