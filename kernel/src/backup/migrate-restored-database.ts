import { DatabaseSync } from 'node:sqlite'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { messageOf } from '@nodekeep/plugin-sdk/thread-parts'
import { databaseSchema } from '../state/database-schema.ts'
import { applySchema, HistoryMismatch, recordedStep, type Step } from '../state/schema.ts'
import { createSql, type Sql } from '../state/sql.ts'
import { cleanDatabase, cleanedTables } from './clean-state.ts'

/** A step of a plugin's migrations that has run. */
export interface PluginStep extends Step {
  readonly plugin: string
}

/** The result for a database. The reasons are for people. */
type MigratedDatabase =
  /** It fits this version, and has the steps of plugins. */
  | { readonly kind: 'migrated'; readonly steps: readonly PluginStep[] }
  /** A newer version has made it. */
  | { readonly kind: 'newer'; readonly reason: string }
  /** It is damaged, or no node has made it. */
  | { readonly kind: 'refused'; readonly reason: string }

/**
 * Makes the kernel's database of a backup fit for this version: checks it, brings its tables up to date, and removes from it what a
 * backup must not bring back. A forged backup may have sessions, and triggers that act later.
 *
 * It blocks its thread.
 *
 * @param file a database that nobody uses
 * @param takenAt the time of its state, in milliseconds since 1970
 * @throws errors of a full disk
 */
export function migrateRestoredDatabase(file: string, takenAt: number): MigratedDatabase {
  try {
    using connection = new DatabaseSync(file, { enableForeignKeyConstraints: true })
    for (const setting of ['trusted_schema = OFF', 'cell_size_check = ON', 'secure_delete = ON']) {
      connection.exec(`PRAGMA ${setting}`)
    }
    connection.exec('PRAGMA journal_mode = DELETE')
    const sql = createSql(connection)
    const problem = foreignPart(sql) ?? damage(sql)
    if (problem !== null) return { kind: 'refused', reason: problem }
    applySchema(connection, databaseSchema)
    const difference = differingColumn(sql)
    if (difference !== null) return { kind: 'refused', reason: difference }
    cleanDatabase(connection, takenAt)
    return { kind: 'migrated', steps: stepsOfPlugins(sql) }
  } catch (error) {
    if (error instanceof HistoryMismatch) return { kind: 'newer', reason: error.message }
    if (isDiskFull(error)) throw error
    return { kind: 'refused', reason: messageOf(error) }
  }
}

/** The steps of plugins in the database of a node. */
export function stepsOfPlugins(sql: Sql): PluginStep[] {
  const rows = sql.all('SELECT plugin, id, migration_change AS change FROM plugin_migrations')
  return rows.map((row) => ({ plugin: String(row.plugin), ...recordedStep(row) }))
}

/** A node makes tables and indexes only. A trigger or a view would do something else than what it seems to do. */
function foreignPart(sql: Sql): string | null {
  const odd = sql.get("SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index')")
  if (odd !== undefined) return `it has a ${odd.type}, "${odd.name}"`
  const virtual = sql.get("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'table'")
  if (virtual !== undefined) return `its table "${virtual.name}" is virtual`
  if (sql.get("SELECT 1 FROM sqlite_schema WHERE name = 'kernel_schema'") === undefined)
    return 'it has no table "kernel_schema"'
  return null
}

function damage(sql: Sql): string | null {
  const found = sql.get('PRAGMA quick_check(1)')?.quick_check
  return found === 'ok' ? null : `SQLite finds it damaged: ${found}`
}

/** The first column of the kernel's tables that is missing, or is another one. */
function differingColumn(sql: Sql): string | null {
  using reference = new DatabaseSync(':memory:')
  applySchema(reference, databaseSchema)
  for (const table of Object.keys(cleanedTables)) {
    const columns = columnsOf(sql, table)
    for (const [name, column] of columnsOf(createSql(reference), table)) {
      if (columns.get(name) !== column)
        return `the column "${name}" of its table "${table}" is not that of a node`
    }
  }
  return null
}

function columnsOf(sql: Sql, table: string): Map<string, string> {
  const rows = sql.all('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', table)
  return new Map(rows.map(({ name, ...column }) => [String(name), JSON.stringify(column)]))
}
