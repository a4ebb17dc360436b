import { type Migrate, type Migration, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import { HistoryMismatch, pendingSteps, recordedStep, type Step } from './schema.ts'
import type { Sql } from './sql.ts'
import { createStateStore, type Query } from './state-stores.ts'

/** The limits of a plugin's migrations. */
interface MigrateLimits {
  /** How long one migration may take, in milliseconds. */
  readonly timeoutMs: number
  /** Aborted when the plugin is to stop. A running migration is then abandoned and rolled back. */
  readonly signal?: AbortSignal
}

/** Makes the function behind the SDK's `migrations`, for the plugin instance with this id. */
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
        // A second call of the same plugin may have run it first.
        if (done.some(({ id }) => id === migration.id)) return
        await runWithin(limits, migration, sql, pluginId)
        sql.run(
          'INSERT INTO plugin_migrations (plugin, position, id, applied_at, migration_change) VALUES (?, ?, ?, ?, ?)',
          pluginId,
          done.length,
          migration.id,
          new Date().toISOString(),
          migration.change,
        )
      })
    }
  }
}

function recorded(sql: Sql, pluginId: string): Step[] {
  return sql
    .all(
      'SELECT id, migration_change AS change FROM plugin_migrations WHERE plugin = ? ORDER BY position',
      pluginId,
    )
    .map(recordedStep)
}

function pendingMigrations(
  done: readonly Step[],
  migrations: readonly Migration[],
  pluginId: string,
): Migration[] {
  try {
    return pendingSteps(done, migrations)
  } catch (error) {
    if (!(error instanceof HistoryMismatch)) throw error
    throw new Error(
      `The state of plugin "${pluginId}" was written by another version of the plugin: ${error.message}. Install the version that ran last, or restore a backup.`,
      { cause: error },
    )
  }
}

/** Runs the migration on a store of its own. The store refuses calls that the migration makes after its end. */
async function runWithin(
  { timeoutMs, signal }: MigrateLimits,
  migration: Migration,
  sql: Sql,
  pluginId: string,
): Promise<void> {
  const name = `Migration "${migration.id}" of plugin "${pluginId}"`
  if (signal?.aborted) throw new Error(`${name} was not started: the plugin is stopping.`)
  let ended = false
  const query: Query = async (statement, ...parameters) => {
    if (ended) throw new Error(`${name} is over. Await everything that it does with the state.`)
    return sql.all(statement, ...parameters)
  }
  try {
    const late = `${name} took longer than ${timeoutMs} ms. Nothing of it was kept.`
    await withTimeLimit(migration.up(createStateStore(pluginId, query)), timeoutMs, late, signal)
  } catch (error) {
    if (signal?.aborted && error === signal.reason) {
      throw new Error(`${name} was stopped. Nothing of it was kept.`, { cause: error })
    }
    throw error
  } finally {
    ended = true
  }
}
