import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import { createStateStore } from './state-store.ts'

/** The stores of all plugins in one database. */
export interface StateStores {
  /** The store of one plugin instance, by the id under which configuration loads it. */
  for(namespace: string): StateStore
  /** Stops the removal of expired entries. The database stays open. */
  close(): void
}

/** How often entries whose time is over are removed from the file. Nobody sees them before that either. */
const sweepMs = 10 * 60 * 1000

/** One store per plugin instance, and the removal of expired entries from time to time. */
export function createStateStores(database: StateDatabase, log: Log): StateStores {
  const stores = new Map<string, StateStore>()
  const sweep = (): void => {
    removeExpired(database).catch((err: unknown) => log.warn({ err }, 'expired state could not be removed'))
  }
  const timer = setInterval(sweep, sweepMs).unref()

  return {
    for(namespace) {
      const known = stores.get(namespace)
      if (known) return known
      const created = createStateStore(namespace, (statement, ...parameters) =>
        database.use((sql) => sql.all(statement, ...parameters)),
      )
      stores.set(namespace, created)
      return created
    },
    close: () => clearInterval(timer),
  }
}

/** Removes the entries whose time is over, a thousand at a time so that nobody waits long. */
export async function removeExpired(database: StateDatabase): Promise<void> {
  const now = Date.now()
  let removed = 0
  do {
    removed = await database.use((sql) =>
      sql.run(
        'DELETE FROM state WHERE rowid IN (SELECT rowid FROM state WHERE expires <= ? LIMIT 1000)',
        now,
      ),
    )
    await new Promise((resolve) => setImmediate(resolve))
  } while (removed === 1000)
}
