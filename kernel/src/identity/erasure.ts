import type { Log, UserDataHolder } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'

export interface ErasureParts {
  readonly database: StateDatabase
  /** All that keep data of users. */
  readonly holders: Iterable<readonly [name: string, holder: UserDataHolder]>
  readonly log: Log
}

/**
 * Removes the users whose deletion is due, with all their data. A user whose data could not all be removed stays,
 * disabled, and is tried again with the next call.
 */
export async function eraseDueUsers(
  { database, holders, log }: ErasureParts,
  signal: AbortSignal,
): Promise<void> {
  const due = await database.use((sql) =>
    sql.all('SELECT uuid FROM users WHERE deletion_due <= ? ORDER BY deletion_due', Date.now()),
  )
  for (const uuid of due.map((row) => String(row.uuid))) {
    if (signal.aborted) return
    try {
      for (const [, holder] of holders) await holder.erase(uuid, signal)
      await database.use((sql) =>
        sql.run('DELETE FROM users WHERE uuid = ? AND deletion_due <= ?', uuid, Date.now()),
      )
      log.info({ user: uuid }, 'A deleted user and their data were removed.')
    } catch (error) {
      log.error(
        { user: uuid, err: error },
        'The data of a deleted user could not be removed; it is tried again later.',
      )
    }
  }
}
