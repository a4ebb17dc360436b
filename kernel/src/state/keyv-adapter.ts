import type { SQLInputValue } from 'node:sqlite'
import { KeyvSqlite } from '#keyv-sqlite'
import type { Row } from './sql.ts'

/** Runs one statement and answers its rows. */
export type Query = (statement: string, ...parameters: SQLInputValue[]) => Promise<Row[]>

/**
 * keyv's SQLite adapter on our own connection, so that the process has one SQLite library and one connection.
 *
 * Expired rows are kept from the adapter: it deletes them in a second statement, which could hit a value that
 * was set in between.
 */
export function createKeyvAdapter(query: Query): KeyvSqlite {
  return new KeyvSqlite({
    table: 'state',
    iterationLimit: 200,
    driver: {
      name: 'custom',
      connect: async () => ({
        query: async (statement, ...parameters) =>
          (await query(statement, ...(parameters as SQLInputValue[]))).filter(isAlive),
        close: async () => {},
      }),
    },
  })
}

function isAlive(row: Row): boolean {
  return typeof row.expires !== 'number' || row.expires > Date.now()
}
