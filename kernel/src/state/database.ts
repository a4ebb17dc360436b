import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { preparePrivateFile } from './data-folder.ts'
import { Gate } from './gate.ts'
import { isBusy, openFailure } from './open-failure.ts'
import { LockHeld, withPatience } from './patience.ts'
import { applySchema, kernelSchema, type SchemaStep } from './schema.ts'
import { createSql, type Sql } from './sql.ts'
import { statementFailure } from './statement-failure.ts'

/** What tells a file from another one of the same name. */
interface FileIdentity {
  readonly dev: number
  readonly ino: number
}

/**
 * The node's connection to `state.sqlite`, shared by everything in the kernel.
 *
 * Work on it is synchronous, so keep it short. Everybody enters by {@link StateDatabase.use} or
 * {@link StateDatabase.transaction}. While a plugin's migration has a transaction open, reading goes on, and sees what
 * was there before; writing waits for its end. A call rejects when the database is closed.
 */
export class StateDatabase {
  readonly path: string
  readonly #connection: DatabaseSync
  readonly #sql: Sql
  readonly #gate = new Gate()
  readonly #file: FileIdentity
  readonly #patienceMs: number

  constructor(path: string, connection: DatabaseSync, file: FileIdentity, patienceMs: number) {
    this.path = path
    this.#connection = connection
    this.#sql = createSql(connection)
    this.#file = file
    this.#patienceMs = patienceMs
  }

  /**
   * Runs statements, each durable when it returns. The work must not be asynchronous. It is run anew when another
   * program holds the file and nothing was changed yet.
   *
   * Rejects with NodekeepError INSUFFICIENT_STORAGE on a full disk, and with SERVICE_UNAVAILABLE when another
   * program holds the file for too long.
   */
  use<T>(work: (sql: Sql) => T): Promise<T> {
    return withPatience(async () => {
      for (;;) {
        const { held } = this.#gate
        try {
          return this.#attempt(work)
        } catch (error) {
          // A migration of this node is waited for however long it may take.
          if (held === undefined || !(error instanceof LockHeld)) throw error
          await held
        }
      }
    }, this.#patienceMs)
  }

  /** Runs statements in one transaction: all of them are kept, or none when the work throws. */
  transaction<T>(work: (sql: Sql) => T): Promise<T> {
    return this.use((sql) => {
      this.#connection.exec('BEGIN IMMEDIATE')
      try {
        const result = work(sql)
        if (result instanceof Promise)
          throw new TypeError('A transaction that awaits needs exclusiveTransaction().')
        this.#connection.exec('COMMIT')
        return result
      } catch (error) {
        this.#rollBack()
        throw error
      }
    })
  }

  /**
   * Runs asynchronous work in one transaction, on a connection of its own: all of it is kept, or none when it rejects.
   * It must use the statements that it is given; what it would write by any other way in would wait for itself.
   */
  exclusiveTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const run = async () => {
      const connection = this.#attempt(() => beginOn(this.path))
      try {
        const result = await work(createSql(connection))
        connection.exec('COMMIT')
        return result
      } finally {
        // What is not committed is rolled back.
        connection.close()
      }
    }
    return withPatience(() => this.#gate.hold(run), this.#patienceMs)
  }

  /** Tells whether the database answers and its file is still in its place. It never waits for anybody. */
  async isConnected(): Promise<boolean> {
    try {
      this.#assertOpen()
      this.#sql.get('SELECT count(*) AS steps FROM kernel_schema')
    } catch (error) {
      if (!isBusy(error)) return false
    }
    const file = await stat(this.path).catch(() => null)
    return file?.dev === this.#file.dev && file.ino === this.#file.ino
  }

  /** Waits for an open transaction, then closes. Calling it again does nothing. */
  close(): Promise<void> {
    return this.#gate.hold(async () => {
      if (this.#connection.isOpen) this.#connection.close()
    })
  }

  #attempt<T>(work: (sql: Sql) => T): T {
    this.#assertOpen()
    const before = this.#totalChanges()
    try {
      return work(this.#sql)
    } catch (error) {
      const failure = statementFailure(error)
      if (!isBusy(error) || this.#totalChanges() !== before) throw failure
      throw new LockHeld('Another connection holds the lock.', { cause: failure })
    }
  }

  /** Rows that this connection has changed since it was opened. */
  #totalChanges(): unknown {
    return this.#sql.get('SELECT total_changes() AS changes')?.changes
  }

  #assertOpen(): void {
    if (!this.#connection.isOpen) throw new Error('The state database is closed.')
  }

  /** SQLite has rolled back by itself after some failures, such as a full disk. */
  #rollBack(): void {
    if (this.#connection.isOpen && this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
  }
}

/**
 * Opens `<dataFolder>/state.sqlite`, making the folder (0700) and the file (0600) when they are missing, and
 * brings the kernel's tables up to date. Take the lock of the data folder first.
 *
 * @param patienceMs how long to wait for another program that holds the file
 * @throws Error with one line for a person: unwritable folder, damaged file, newer schema, full disk
 */
export async function openStateDatabase(
  dataFolder: string,
  schema: readonly SchemaStep[] = kernelSchema,
  patienceMs = 5000,
): Promise<StateDatabase> {
  const path = preparePrivateFile(dataFolder, 'state.sqlite')
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(path, { timeout: patienceMs, enableForeignKeyConstraints: true })
    configure(connection)
    applySchema(connection, schema)
    // From now on nobody may hold up the process; see withPatience.
    connection.exec('PRAGMA busy_timeout = 0')
    return new StateDatabase(path, connection, await stat(path), patienceMs)
  } catch (error) {
    connection?.close()
    throw openFailure(path, error)
  }
}

/** A second connection to a database that is there already, with a transaction open. */
function beginOn(path: string): DatabaseSync {
  const existing = pathToFileURL(path)
  existing.search = 'mode=rw'
  const connection = new DatabaseSync(existing, { timeout: 0, enableForeignKeyConstraints: true })
  try {
    configure(connection)
    connection.exec('BEGIN IMMEDIATE')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * FULL makes every commit reach the disk before it returns; under WAL, SQLite's default of NORMAL would lose the last
 * ones in a power cut. The fullfsync pair asks the same of macOS and means nothing elsewhere.
 */
function configure(connection: DatabaseSync): void {
  connection.exec('PRAGMA journal_mode = WAL')
  connection.exec('PRAGMA synchronous = FULL')
  connection.exec('PRAGMA fullfsync = ON')
  connection.exec('PRAGMA checkpoint_fullfsync = ON')
}
