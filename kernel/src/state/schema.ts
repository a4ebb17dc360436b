import type { DatabaseSync } from 'node:sqlite'
import { identityTables } from '../identity/identity-tables.ts'
import { pendingSteps, type Step } from './history.ts'
import { leasesTable } from './leases-table.ts'
import { createSql } from './sql.ts'
import { pluginStateTables } from './state-tables.ts'

/** One step of the kernel's own tables. It runs once, inside a transaction. */
export interface SchemaStep extends Step {
  /** Never changed after release. Steps are only ever added at the end of {@link kernelSchema}. */
  readonly id: string
  up(connection: DatabaseSync): void
}

/** The kernel's own tables, in the order in which they came to be. */
export const kernelSchema: readonly SchemaStep[] = [pluginStateTables, leasesTable, identityTables]

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
