import type { Log } from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { ChangeRecorder } from './change-recorder.ts'
import { entryAt } from './happened.ts'
import { inTime, lookMs } from './in-time.ts'

export interface AbandonedCopiesParts {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly recorder: ChangeRecorder
  readonly log: Log
}

/**
 * Removes what moves across mounts had copied when the last run ended in the middle of them: their sources are whole,
 * and nobody goes on with the copies. What cannot be removed now is left to the next start.
 */
export async function removeAbandonedCopies({
  journal,
  mounts,
  recorder,
  log,
}: AbandonedCopiesParts): Promise<void> {
  for (const { userUuid, path } of await journal.stopovers()) {
    try {
      const isThere = (await inTime(entryAt(mounts, userUuid, path as UserPath), lookMs)) !== null
      const { backend, backendPath } = mounts.place(userUuid, path as UserPath)
      await recorder.record({ userUuid, op: 'delete', path }, async () => {
        if (isThere) await backend.remove(backendPath)
      })
    } catch (error) {
      log.warn({ err: error, user: userUuid }, 'The copy of an unfinished move stays until the next start.')
    }
  }
}
