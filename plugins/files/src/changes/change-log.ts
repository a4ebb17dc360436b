import { type ChangeLog, type ChangePosition, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ExternalScans } from '../external/external-scans.ts'
import type { Journal } from '../journal/journal.ts'
import type { Reconciliation } from './reconciliation.ts'

/**
 * The journal as its readers have it. Their positions carry the id of a change: its number alone may be that of another change, if
 * the data folder was put back to an older state and the node went on from there.
 */
export function createChangeLog(
  journal: Journal,
  external: Pick<ExternalScans, 'follow'>,
  reconciliation: Pick<Reconciliation, 'stalled'>,
): ChangeLog {
  return {
    get epoch() {
      return journal.epoch
    },
    follow: (userUuid) => external.follow(userUuid),
    async head(userUuid) {
      const { epoch } = journal
      const seq = await journal.head(userUuid)
      return { epoch, seq, id: journal.idOf(userUuid, seq) ?? '' }
    },
    async read(userUuid, after, limit) {
      checkPosition(after)
      const isKnown = after.epoch === journal.epoch && journal.idOf(userUuid, after.seq) === after.id
      if (!isKnown) {
        throw new NodekeepError(
          'CONFLICT',
          'The position belongs to another history of this node. List the files again and continue from the newest change.',
        )
      }
      return journal.read(userUuid, after.seq, limit)
    },
    retainFrom: (userUuid, reader, after) => journal.retainFrom(userUuid, reader, after),
    stalled: (userUuid) => reconciliation.stalled(userUuid),
  }
}

function checkPosition({ seq, id }: ChangePosition): void {
  if (Number.isSafeInteger(seq) && seq >= 0 && typeof id === 'string') return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'A position has the parts "epoch", "seq" and "id" of a change that was read.',
  )
}
