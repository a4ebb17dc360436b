import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/** One row of a result, by column name. */
export type Row = Record<string, SQLOutputValue>

/**
 * Statements on one connection. Each call is synchronous and runs one statement with its `?` parameters bound.
 *
 * Statements are prepared once and kept, so their text must be constant. Values belong into the parameters.
 */
export interface Sql {
  /** Returns the first row, or `undefined`. */
  get(statement: string, ...parameters: SQLInputValue[]): Row | undefined
  /** Returns all rows. */
  all(statement: string, ...parameters: SQLInputValue[]): Row[]
  /** Returns the number of rows that were changed. */
  run(statement: string, ...parameters: SQLInputValue[]): number
}

/** Makes statements on the connection, each prepared once. */
export function createSql(connection: DatabaseSync): Sql {
  const prepared = new Map<string, StatementSync>()

  function prepare(statement: string): StatementSync {
    const known = prepared.get(statement)
    if (known) return known
    const created = connection.prepare(statement)
    prepared.set(statement, created)
    return created
  }

  return {
    get: (statement, ...parameters) => prepare(statement).get(...parameters),
    all: (statement, ...parameters) => prepare(statement).all(...parameters),
    run: (statement, ...parameters) => Number(prepare(statement).run(...parameters).changes),
  }
}
