import { type ChangeLog, type ChangePosition, type FileChange, isNodekeepError } from '@nodekeep/plugin-sdk'

/** The changes of a user after a position; null if they are deleted, or if the position belongs to another history. */
export async function changesAfter(
  changes: ChangeLog,
  userUuid: string,
  position: ChangePosition,
  limit?: number,
): Promise<readonly FileChange[] | null> {
  try {
    return await changes.read(userUuid, position, limit)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'CONFLICT') return null
    throw error
  }
}
