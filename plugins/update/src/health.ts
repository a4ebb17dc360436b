import { type HealthCheck, notAfterNow } from '@nodekeep/plugin-sdk'
import type { RecordFile } from './state/update-record.ts'
import { askedFor, type Updates } from './updates.ts'

/** Time for which a source may be out of reach before the owner has to know, in milliseconds. */
const patienceMs = 3 * 24 * 60 * 60_000

/**
 * The health check `update`: not ok if the source has not answered for three days, or if the newest version did not work here.
 *
 * @param startedAt when the node started, for one whose checks have never succeeded
 */
export function updateHealth(
  updates: Pick<Updates, 'newer' | 'leftBecause'>,
  file: Pick<RecordFile, 'record'>,
  startedAt: Date,
): HealthCheck {
  return {
    async check() {
      const { checkedAt, checkProblem } = file.record
      const stored = checkedAt === null ? startedAt : new Date(checkedAt)
      // A moment after now was stored under a wrong clock, so it does not tell for how long there was no answer.
      const answeredAt = notAfterNow(stored) === stored ? stored : startedAt
      if (checkProblem !== null && Date.now() - answeredAt.getTime() > patienceMs)
        return { ok: false, state: 'unreachable' }
      if (updates.newer === null) return { ok: true, state: 'current' }
      const reason = await updates.leftBecause(updates.newer.version)
      if (reason !== null && reason !== askedFor) return { ok: false, state: 'failed' }
      return { ok: true, state: 'available' }
    },
  }
}
