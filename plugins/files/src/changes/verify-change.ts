import { NodekeepError, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import type { Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

/** Milliseconds for one question to a storage. */
const storageMs = 3000

/**
 * Whether the storage shows that an intended change was applied.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable or does not answer in time
 */
export function wasApplied(intent: ChangeIntent, mounts: Mounts): Promise<boolean> {
  return withStorageLimit(compareWithStorage(intent, mounts))
}

/**
 * Waits 3 seconds for a storage. One that hangs must not keep the node from starting, nor hold up other storages.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the time is over
 */
export function withStorageLimit<T>(answer: Promise<T>): Promise<T> {
  const late = new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The storage does not answer in time. Try again later.',
    {
      headers: { 'retry-after': '30' },
    },
  )
  return withTimeLimit(answer, storageMs, late)
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
