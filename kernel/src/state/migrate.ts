import type { Migrate, Migration } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import { HistoryMismatch, pendingSteps } from './history.ts'
import type { Query } from './keyv-adapter.ts'
import type { Sql } from './sql.ts'
import { createStateStore } from './state-store.ts'

/** What bounds a plugin's migrations. */
export interface MigrateLimits {
  /** How long one migration may take. */
  readonly timeoutMs: number
  /** Aborted when the plugin is to stop. A migration that runs is then given up and rolled back. */
  readonly signal?: AbortSignal
}

/** What the SDK promises of `migrations`, for the plugin instance with this id. */
export function createMigrate(database: StateDatabase, pluginId: string, limits: MigrateLimits): Migrate {
  return async (migrations) => {
    const pending = pendingMigrations(
      await database.use((sql) => recorded(sql, pluginId)),
      migrations,
      pluginId,
    )
    for (const migration of pending) {
      await database.exclusiveTransaction(async (sql) => {
        const done = recorded(sql, pluginId)
        // A second call of the same plugin may have come first.
        if (done.includes(migration.id)) return
        await runWithin(limits, migration, sql, pluginId)
        sql.run(
          'INSERT INTO plugin_migrations (plugin, position, id, applied_at) VALUES (?, ?, ?, ?)',
          pluginId,
          done.length,
          migration.id,
          new Date().toISOString(),
        )
      })
    }
  }
}

function recorded(sql: Sql, pluginId: string): string[] {
  return sql
    .all('SELECT id FROM plugin_migrations WHERE plugin = ? ORDER BY position', pluginId)
    .map((row) => String(row.id))
}

function pendingMigrations(done: string[], migrations: readonly Migration[], pluginId: string): Migration[] {
  try {
    return pendingSteps(done, migrations)
  } catch (error) {
    if (!(error instanceof HistoryMismatch)) throw error
    throw new Error(
      `The state of plugin "${pluginId}" was written by another version of it: ${error.message}. Install the version that ran last, or restore a backup.`,
      { cause: error },
    )
  }
}

/** Runs the migration over a store of its own that ends with it, whatever the migration still does afterwards. */
async function runWithin(
  limits: MigrateLimits,
  migration: Migration,
  sql: Sql,
  pluginId: string,
): Promise<void> {
  const name = `Migration "${migration.id}" of plugin "${pluginId}"`
  if (limits.signal?.aborted) throw new Error(`${name} was not begun: the plugin is to stop.`)
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  let ended = false
  const query: Query = async (statement, ...parameters) => {
    if (ended) throw new Error(`${name} is over. Await everything that it does with the state.`)
    return sql.all(statement, ...parameters)
  }
  const stop = (): void => reject(new Error(`${name} was stopped. Nothing of it was kept.`))
  const timer = setTimeout(
    () => reject(new Error(`${name} took longer than ${limits.timeoutMs} ms. Nothing of it was kept.`)),
    limits.timeoutMs,
  )
  limits.signal?.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([givenUp, migration.up(createStateStore(pluginId, query))])
  } finally {
    ended = true
    clearTimeout(timer)
    limits.signal?.removeEventListener('abort', stop)
  }
}
