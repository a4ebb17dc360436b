import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { RecordFile } from './state/update-record.ts'
import { askedFor, type Updates } from './updates.ts'

/** Time for which a source may be out of reach before the owner has to know, in milliseconds. */
const maxSilentMs = 3 * 24 * 60 * 60_000

/**
 * The health check `update`: not ok if the source has not answered for three days, or if the newest version did not work here.
 *
 * @param upMs returns for how long the node has been running, by a monotonic clock. It counts where no time is certain: for a node
 *   whose checks have never succeeded, and for an answer under a clock that was ahead
 */
export function updateHealth(
  updates: Pick<Updates, 'newer' | 'leftBecause'>,
  file: Pick<RecordFile, 'record'>,
  upMs: () => number,
): HealthCheck {
  return {
    async check() {
      const { checkedAt, checkProblem } = file.record
      const answeredMsAgo = checkedAt === null ? -1 : Date.now() - Date.parse(checkedAt)
      const silentMs = answeredMsAgo >= 0 ? answeredMsAgo : upMs()
      if (checkProblem !== null && silentMs > maxSilentMs)
        return {
          ok: false,
          state: 'unreachable',
          message:
            'No update was found for three days, because its source does not answer. Look under "Update".',
        }
      if (updates.newer === null) return { ok: true, state: 'current' }
      const reason = await updates.leftBecause(updates.newer.version)
      if (reason !== null && reason !== askedFor)
        return {
          ok: false,
          state: 'failed',
          message: `Version ${updates.newer.version} was tried and did not work here: ${reason} Look under "Update".`,
        }
      return {
        ok: true,
        state: 'available',
        message: `Version ${updates.newer.version} can be installed under "Update".`,
      }
    },
  }
}
