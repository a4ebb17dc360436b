import { dirname } from 'node:path'
import { type Log, notAfterNow, type UserDataHolder, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { NodeClock } from '../health/node-clock.ts'
import type { RegistryEntries } from '../services/registry.ts'
import { type IdleDays, unusedSince } from '../sessions/session-life.ts'
import type { SessionTable } from '../sessions/session-table.ts'
import { removeSetAside } from '../state/damaged-database.ts'
import type { StateDatabase } from '../state/database.ts'

const intervalMs = 60 * 60 * 1000

/** How long one holder may take to erase one user. A holder that never ends must not block the others. */
const eraseLimitMs = 60 * 60 * 1000

interface ErasureServices {
  readonly database: StateDatabase
  /** All parts that keep data of users. */
  readonly holders: RegistryEntries<UserDataHolder>
  readonly clock: Pick<NodeClock, 'past'>
  /** Plugins of the configuration that are not active now. They may keep data of users, and cannot remove it. */
  readonly absentPlugins: () => readonly string[]
  readonly log: Log
}

interface HousekeepingServices extends ErasureServices {
  readonly sessions: SessionTable
  readonly idleDays: IdleDays
  /** Makes the reserve of a full disk again. */
  readonly makeReserve: () => Promise<void>
}

/**
 * Removes sessions and users whose end has certainly passed, and makes the reserve of the disk again, now and every hour.
 *
 * @returns a function that stops it, and waits for work that is under way
 */
export function startHousekeeping(services: HousekeepingServices): () => Promise<void> {
  const abort = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const run = () => {
    running = running.then(() => removeEnded(services, abort.signal))
  }
  const timer = setInterval(run, intervalMs).unref()
  run()
  return async () => {
    clearInterval(timer)
    abort.abort()
    await running
  }
}

async function removeEnded(services: HousekeepingServices, signal: AbortSignal): Promise<void> {
  try {
    await services.makeReserve()
    // A clock that starts in 1970 must not end the sessions that begin meanwhile.
    const past = notAfterNow(services.clock.past)
    await services.sessions.sweep(past, unusedSince(services.idleDays, past))
    await eraseDueUsers(services, signal)
  } catch (error) {
    services.log.error({ err: error }, 'Ended sessions or deleted users could not be removed.')
  }
}

/** A grace period that has certainly passed. A clock that is years ahead for a while must cost nobody their data. */
const isDue = 'deletion_due <= ? OR (deletion_due = disabled_at AND deletion_due <= ?)'

/**
 * Removes the users whose grace period has certainly passed, with all their data; without a grace period, at once. A user whose data could not all be removed stays,
 * disabled, and the next call tries again. While a plugin is missing, all users stay: its data would otherwise be left
 * behind for good.
 */
export async function eraseDueUsers(
  { database, holders, clock, absentPlugins, log }: ErasureServices,
  signal: AbortSignal,
): Promise<void> {
  const due = await database.use((sql) =>
    sql.all(`SELECT uuid FROM users WHERE ${isDue} ORDER BY deletion_due`, clock.past.getTime(), Date.now()),
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
      for (const name of holders.names()) {
        const late = `"${name}" took longer than an hour to remove the data of a user.`
        const work = holders.call(name, signal, (holder, own) => holder.erase(uuid, own))
        await withTimeLimit(work, eraseLimitMs, late, signal)
      }
      removeSetAside(dirname(database.path))
      await database.use((sql) =>
        sql.run(`DELETE FROM users WHERE uuid = ? AND (${isDue})`, uuid, clock.past.getTime(), Date.now()),
      )
      log.info({ user: uuid }, 'A deleted user and their data were removed.')
    } catch (error) {
      if (signal.aborted) return
      log.error(
        { user: uuid, err: error },
        'The data of a deleted user could not be removed. The node tries again later.',
      )
    }
  }
}
