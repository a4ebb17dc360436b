import type { DatabaseSync } from 'node:sqlite'
import { createSql } from './sql.ts'

/** One step of a schema or of a plugin's migrations. It runs once and is recorded under its id. */
export interface Step {
  readonly id: string
}

/** One step of the kernel's own tables. It runs once, inside a transaction. */
export interface SchemaStep extends Step {
  /** Never changed after a release. New steps are only added at the end of the list. */
  readonly id: string
  up(connection: DatabaseSync): void
}

/** The recorded steps and the list of steps do not belong together. */
export class HistoryMismatch extends Error {
  override readonly name = 'HistoryMismatch'
}

/**
 * Returns the steps that are still to run: those after the recorded ones.
 *
 * @throws HistoryMismatch when the recorded steps are not the beginning of the list
 * @throws TypeError when two steps share an id
 */
export function pendingSteps<S extends Step>(recorded: readonly string[], steps: readonly S[]): S[] {
  const ids = new Set<string>()
  for (const { id } of steps) {
    if (typeof id !== 'string' || id === '')
      throw new TypeError('A migration needs an id, such as "1-notes".')
    if (ids.has(id)) throw new TypeError(`Two migrations have the id "${id}". Give each its own.`)
    ids.add(id)
  }
  for (const [position, id] of recorded.entries()) {
    const expected = steps[position]?.id
    if (expected === id) continue
    throw new HistoryMismatch(
      expected === undefined || !ids.has(id)
        ? `migration "${id}" has run, but this version does not know it`
        : `migration "${id}" has run where "${expected}" is expected`,
    )
  }
  return steps.slice(recorded.length)
}

/**
 * Brings the kernel's tables up to date: all of the missing steps, or none.
 *
 * @throws HistoryMismatch when a newer version wrote the database
 */
export function applySchema(connection: DatabaseSync, steps: readonly SchemaStep[]): void {
  const sql = createSql(connection)
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(
      'CREATE TABLE IF NOT EXISTS kernel_schema (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, applied_at TEXT NOT NULL) STRICT',
    )
    const recorded = sql.all('SELECT id FROM kernel_schema ORDER BY position').map((row) => String(row.id))
    for (const step of pendingSteps(recorded, steps)) {
      step.up(connection)
      sql.run('INSERT INTO kernel_schema (id, applied_at) VALUES (?, ?)', step.id, new Date().toISOString())
    }
    connection.exec('COMMIT')
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK')
    throw error
  }
}

/**
 * The plugins' state, and the record of the migrations that have run.
 *
 * The columns of `state` are those that @keyv/sqlite expects. It would make the table itself, but with the key before
 * the namespace: listing the entries of one plugin would then walk the entries of all plugins.
 */
const pluginState: SchemaStep = {
  id: '1-plugin-state',
  up(connection) {
    connection.exec(`
      CREATE TABLE state (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        expires INTEGER,
        UNIQUE (namespace, key)
      ) STRICT;
      CREATE INDEX state_expires_idx ON state (expires) WHERE expires IS NOT NULL;
      CREATE TABLE plugin_migrations (
        plugin TEXT NOT NULL,
        position INTEGER NOT NULL,
        id TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        PRIMARY KEY (plugin, position),
        UNIQUE (plugin, id)
      ) STRICT;
    `)
  },
}

/** Times are milliseconds since 1970. A row stays after the release of its lease, so that fences only rise. */
const leases: SchemaStep = {
  id: '2-leases',
  up(connection) {
    connection.exec(`
      CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        fence INTEGER NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT;
    `)
  },
}

/** The tables behind the plugins' state and the leases, in the order in which they were introduced. */
export const stateTables: readonly SchemaStep[] = [pluginState, leases]
