import { type ChangeLog, type FileChange, isNodekeepError } from '@nodekeep/plugin-sdk'

/** The changes of a user after a cursor; null if they are deleted, or if the cursor is none of this journal. */
export async function changesAfter(
  changes: ChangeLog,
  userUuid: string,
  cursor: number,
  limit?: number,
): Promise<readonly FileChange[] | null> {
  try {
    return await changes.read(userUuid, cursor, limit)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'CONFLICT') return null
    throw error
  }
}
