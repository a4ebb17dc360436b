import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { SyncFailure, type SyncFailureKind } from './sync-failure.ts'

/** The database of the state of a client. It prepares each statement once. Its expected errors are those of sync. */
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
   */
  run(statement: string, ...values: SQLInputValue[]): number {
    return orFailure(() => Number(this.#prepared(statement).run(...values).changes))
  }

  /** The first row of a query. */
  row(query: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue> | undefined {
    return orFailure(() => this.#prepared(query).get(...values))
  }

  /** All rows of a query, read one by one. Nothing may change the database before the last one. */
  *rows(query: string, ...values: SQLInputValue[]): Generator<Record<string, SQLOutputValue>> {
    const rows = orFailure(() => this.#prepared(query).iterate(...values))
    for (;;) {
      const { done, value } = orFailure(() => rows.next())
      if (done) return
      yield value
    }
  }

  /** Ends a transaction without its changes. A full disk may have ended it already. */
  rollBack(): void {
    if (this.#database.isTransaction) this.run('ROLLBACK')
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

/** Failures for results of SQLite that are no fault of the program: https://www.sqlite.org/rescode.html */
const failures: Readonly<Record<number, readonly [SyncFailureKind, string]>> = {
  8: ['unavailable', 'The disk is read-only, so the state of the folder cannot be stored.'],
  10: ['unavailable', 'The disk has an error, so the state of the folder cannot be read or stored.'],
  11: ['stop', 'The state of the folder is damaged. Begin anew with "--link": nothing is deleted.'],
  13: ['unavailable', 'The disk is full, so the state of the folder cannot be stored.'],
  14: ['unavailable', 'The disk is read-only or full, so the state of the folder cannot be stored.'],
  26: ['stop', 'The state of the folder is damaged. Begin anew with "--link": nothing is deleted.'],
}

/** The primary result code of an error of SQLite. 0 for other errors. */
export function sqliteCode(error: unknown): number {
  // Extended codes carry the primary one in their lowest byte.
  return ((error as { errcode?: number }).errcode ?? 0) % 256
}

/** The failure to report for an error of SQLite. `null` for other errors. */
export function storageFailure(error: unknown): SyncFailure | null {
  const [kind, message] = failures[sqliteCode(error)] ?? []
  return kind === undefined ? null : new SyncFailure(kind, message ?? '', { cause: error })
}

function orFailure<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storageFailure(error) ?? error
  }
}
