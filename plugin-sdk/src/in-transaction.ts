import type { DatabaseSync } from 'node:sqlite'

/**
 * Runs statements in one transaction of SQLite: all of them are kept, or none if the work throws. It writes from its begin on,
 * so it waits for other writers once, as long as the database's timeout says.
 *
 * @param work synchronous: other statements on the same connection would become part of the transaction
 * @throws the error of the work, or of SQLite
 * @example
 * inTransaction(database, () => {
 *   forget.run(from)
 *   remember.run(to)
 * })
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    if (result instanceof Promise) throw new TypeError('The work of a transaction must not wait.')
    database.exec('COMMIT')
    return result
  } catch (error) {
    // After some failures, such as a full disk, SQLite has already rolled back.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
