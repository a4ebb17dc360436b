import type { Log } from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { withStorageLimit } from '../mounts/storage-limit.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { ChangeRecorder } from './change-recorder.ts'

/**
 * Removes the staged copies that the last run did not finish. Their sources are whole. A copy that
 * cannot be removed now is left to the next start.
 */
export async function removeAbandonedCopies(
  journal: Journal,
  mounts: Mounts,
  recorder: ChangeRecorder,
  log: Log,
): Promise<void> {
  for (const { userUuid, path } of await journal.stagedMoves()) {
    try {
      const entry = await withStorageLimit(mounts.entryAt(userUuid, path as UserPath))
      const { backend, backendPath } = mounts.locate(userUuid, path as UserPath)
      await recorder.record({ userUuid, op: 'delete', path, staging: 'abandon' }, async () => {
        if (entry !== null) await backend.remove(backendPath)
      })
    } catch (error) {
      log.warn({ err: error, user: userUuid }, 'The copy of an unfinished move stays until the next start.')
    }
  }
}
