import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { SyncFailure } from './sync-failure.ts'

/**
 * The database of the state of a client. It prepares each statement once. Its expected errors are those of sync: a write that fails
 * may be tried again, and after a read that fails, the client must stop, since memory may no longer match the database.
 */
export class StateDatabase {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Runs a statement.
   *
   * @returns the number of rows that it changed
   * @throws SyncFailure `unavailable` on a disk that is full, read-only or has an error
   */
  run(statement: string, ...values: SQLInputValue[]): number {
    try {
      return Number(this.#prepared(statement).run(...values).changes)
    } catch (error) {
      throw storageFailure(error) ?? error
    }
  }

  /**
   * The first row of a query.
   *
   * @throws SyncFailure `stop` if it cannot be read
   */
  row(query: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue> | undefined {
    return orStop(() => this.#prepared(query).get(...values))
  }

  /**
   * All rows of a query, read one by one. Nothing may change the database before the last one.
   *
   * @throws SyncFailure `stop` if they cannot be read
   */
  *rows(query: string, ...values: SQLInputValue[]): Generator<Record<string, SQLOutputValue>> {
    const rows = orStop(() => this.#prepared(query).iterate(...values))
    for (;;) {
      const { done, value } = orStop(() => rows.next())
      if (done) return
      yield value
    }
  }

  /**
   * Ends a transaction without its changes. A full disk may have ended it already.
   *
   * @throws SyncFailure `stop` if that is not possible
   */
  rollBack(): void {
    if (this.#database.isTransaction) orStop(() => this.#prepared('ROLLBACK').run())
  }

  close(): void {
    this.#database.close()
  }

  #prepared(statement: string): StatementSync {
    const prepared = this.#statements.get(statement) ?? this.#database.prepare(statement)
    this.#statements.set(statement, prepared)
    return prepared
  }
}

/** Results of SQLite for a write that may be possible later: https://www.sqlite.org/rescode.html */
const writeFailures: Readonly<Record<number, string>> = {
  8: 'The disk is read-only, so the state of the folder cannot be stored.',
  10: 'The disk has an error, so the state of the folder cannot be stored.',
  13: 'The disk is full, so the state of the folder cannot be stored.',
  14: 'The disk is read-only or full, so the state of the folder cannot be stored.',
}

/** Results of SQLite for a database that is damaged. It reports some errors of the disk as the first of them. */
const damaged: readonly number[] = [11, 26]

/** The primary result code of an error of SQLite. 0 for other errors. */
export function sqliteCode(error: unknown): number {
  // Extended codes carry the primary one in their lowest byte.
  return ((error as { errcode?: number }).errcode ?? 0) % 256
}

/** The failure to report for an error of SQLite at a write. `null` for other errors. */
export function storageFailure(error: unknown): SyncFailure | null {
  const code = sqliteCode(error)
  const message = writeFailures[code]
  if (message !== undefined) return new SyncFailure('unavailable', message, { cause: error })
  return damaged.includes(code) ? unreadable(error) : null
}

function unreadable(cause: unknown): SyncFailure {
  return new SyncFailure(
    'stop',
    'The state of the folder cannot be read: the disk has an error, or the state is damaged. Start the client again. If that does not help, begin anew with "--link": nothing is deleted.',
    { cause },
  )
}

function orStop<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storageFailure(error) === null ? error : unreadable(error)
  }
}
