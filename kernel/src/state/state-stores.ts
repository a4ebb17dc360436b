import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import { createStateStore } from './state-store.ts'

/** The stores of all plugins in one database. */
export interface StateStores {
  /** Returns the store of one plugin instance, by the id under which configuration loads it. */
  for(namespace: string): StateStore
  /** Stops the removal of expired entries. The database stays open. */
  close(): void
}

/** How often expired entries are removed from the file. Before that they take space, but are never returned. */
const sweepMs = 10 * 60 * 1000

/** Makes one store per plugin instance, and removes expired entries every ten minutes. */
export function createStateStores(database: StateDatabase, log: Log): StateStores {
  const stores = new Map<string, StateStore>()
  const sweep = (): void => {
    removeExpired(database).catch((err: unknown) => log.warn({ err }, 'Expired state could not be removed.'))
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

/** Removes expired entries, a thousand at a time, so that other statements do not wait long. */
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
