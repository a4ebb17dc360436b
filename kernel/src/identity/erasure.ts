import { type Log, type UserDataHolder, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'

/** How long one holder may take for one user. Who never ends must not keep the others' data from being removed. */
const longestMs = 60 * 60 * 1000

export interface ErasureParts {
  readonly database: StateDatabase
  /** All that keep data of users. */
  readonly holders: Iterable<readonly [name: string, holder: UserDataHolder]>
  /** Plugins of the configuration that aren't active now; they may keep data of users and cannot say so. */
  readonly absentPlugins: () => readonly string[]
  readonly log: Log
}

/**
 * Removes the users whose deletion is due, with all their data. A user whose data could not all be removed stays,
 * disabled, and is tried again with the next call. So do all of them while a plugin is missing, whose data would be
 * left behind for good.
 */
export async function eraseDueUsers(
  { database, holders, absentPlugins, log }: ErasureParts,
  signal: AbortSignal,
): Promise<void> {
  const due = await database.use((sql) =>
    sql.all('SELECT uuid FROM users WHERE deletion_due <= ? ORDER BY deletion_due', Date.now()),
  )
  const absent = absentPlugins()
  if (due.length > 0 && absent.length > 0) {
    log.warn(
      { plugins: absent },
      'Deleted users stay until these plugins are active and can remove their data.',
    )
    return
  }
  for (const uuid of due.map((row) => String(row.uuid))) {
    if (signal.aborted) return
    try {
      for (const [name, holder] of holders) {
        const late = `"${name}" took longer than an hour to remove the data of a user.`
        await withTimeLimit(holder.erase(uuid, signal), longestMs, late, signal)
      }
      await database.use((sql) =>
        sql.run('DELETE FROM users WHERE uuid = ? AND deletion_due <= ?', uuid, Date.now()),
      )
      log.info({ user: uuid }, 'A deleted user and their data were removed.')
    } catch (error) {
      if (signal.aborted) return
      log.error(
        { user: uuid, err: error },
        'The data of a deleted user could not be removed; it is tried again later.',
      )
    }
  }
}
