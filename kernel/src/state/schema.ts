import type { DatabaseSync } from 'node:sqlite'
import type { MigrationChange } from '@nodekeep/plugin-sdk'
import { inTransaction } from '@nodekeep/plugin-sdk/data-folder'
import { createSql, type Row, type Sql } from './sql.ts'

/** One step of a schema or of a plugin's migrations. It runs once and is recorded. */
export interface Step {
  readonly id: string
  readonly change: MigrationChange
}

/** One step of the kernel's own tables. It runs once, inside a transaction. */
export interface SchemaStep extends Step {
  /** Never changed after a release. New steps are only added at the end of the list. */
  readonly id: string
  /** A test holds every `expand` to its promise (`testing/expansion-problems.ts`). */
  readonly change: MigrationChange
  up(connection: DatabaseSync): void
}

/** The recorded steps and the list of steps do not belong together. */
export class HistoryMismatch extends Error {
  override readonly name = 'HistoryMismatch'
}

/**
 * Returns the steps that are still to run: those after the recorded ones. Recorded steps of a newer version may follow
 * the list if all of them are expansions, since this version can work with what they made.
 *
 * @throws HistoryMismatch when the recorded steps and the list do not begin alike, or a newer version contracted the data
 * @throws TypeError when two steps share an id, or a step does not declare its change
 */
export function pendingSteps<S extends Step>(recorded: readonly Step[], steps: readonly S[]): S[] {
  const ids = checkedIds(steps)
  for (const [position, { id, change }] of recorded.entries()) {
    const expected = steps[position]?.id
    if (expected === id) continue
    if (expected === undefined && !ids.has(id) && change === 'expand') continue
    throw new HistoryMismatch(
      expected === undefined || !ids.has(id)
        ? `migration "${id}" has run, but this version does not know it`
        : `migration "${id}" has run where "${expected}" is expected`,
    )
  }
  return steps.slice(recorded.length)
}

function checkedIds(steps: readonly Step[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { id, change } of steps) {
    if (typeof id !== 'string' || id === '')
      throw new TypeError('A migration needs an id, such as "1-notes".')
    if (ids.has(id)) throw new TypeError(`Two migrations have the id "${id}". Give each its own.`)
    ids.add(id)
    if (change === 'expand' || change === 'contract') continue
    throw new TypeError(
      `Migration "${id}" does not declare its change. Write change: 'expand' if it only adds, so that the version before it can still use the data. Otherwise write change: 'contract'.`,
    )
  }
  return ids
}

/** Reads a recorded step. A change that is not known counts as a contraction. */
export function recordedStep({ id, change }: Row): Step {
  return { id: String(id), change: change === 'expand' ? 'expand' : 'contract' }
}

/**
 * Brings the kernel's tables up to date: all of the missing steps, or none.
 *
 * @throws HistoryMismatch when a newer version wrote the database in a form that this version does not know
 */
export function applySchema(connection: DatabaseSync, steps: readonly SchemaStep[]): void {
  const sql = createSql(connection)
  inTransaction(connection, () => {
    prepareHistory(connection, sql)
    const recorded = sql.all('SELECT id, change FROM kernel_schema ORDER BY position').map(recordedStep)
    for (const step of pendingSteps(recorded, steps)) {
      step.up(connection)
      sql.run(
        'INSERT INTO kernel_schema (id, applied_at, change) VALUES (?, ?, ?)',
        step.id,
        new Date().toISOString(),
        step.change,
      )
    }
  })
}

function prepareHistory(connection: DatabaseSync, sql: Sql): void {
  connection.exec(
    'CREATE TABLE IF NOT EXISTS kernel_schema (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, applied_at TEXT NOT NULL) STRICT',
  )
  if (sql.get("SELECT 1 FROM pragma_table_info('kernel_schema') WHERE name = 'change'") === undefined) {
    connection.exec(addColumn('kernel_schema', 'change'))
  }
}

/** A step that ran before changes were recorded counts as a contraction. Every version that reads the record knows it. */
function addColumn(table: string, column: string): string {
  return `ALTER TABLE ${table} ADD COLUMN ${column} TEXT NOT NULL DEFAULT 'contract'`
}

/**
 * The plugins' state, and the record of the migrations that have run.
 *
 * The columns of `state` are those that @keyv/sqlite expects. It would make the table itself, but with the key before
 * the namespace: listing the entries of one plugin would then walk the entries of all plugins.
 */
const pluginState: SchemaStep = {
  id: '1-plugin-state',
  change: 'expand',
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

/** A table that earlier versions need: after a rollback they take leases in it. This version does not use it. */
const leases: SchemaStep = {
  id: '2-leases',
  change: 'expand',
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

/** The tables behind the plugins' state, and those of earlier versions, in the order in which they were introduced. */
export const stateTables: readonly SchemaStep[] = [pluginState, leases]

/** Records which migrations of plugins only add to the data, so that an earlier version of a plugin can use it. */
export const migrationChanges: SchemaStep = {
  id: '5-migration-changes',
  change: 'expand',
  up: (connection) => connection.exec(addColumn('plugin_migrations', 'migration_change')),
}
