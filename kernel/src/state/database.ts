import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { HealthCheck } from '@nodekeep/plugin-sdk'
import { isBusy, openFailure, preparePrivateFile } from '@nodekeep/plugin-sdk/data-folder'
import { applySchema, HistoryMismatch, type SchemaStep } from './schema.ts'
import { createSql, type Sql } from './sql.ts'
import { statementFailure } from './sqlite-errors.ts'

/** Tells a file from another one of the same name. */
type FileIdentity = Pick<Stats, 'dev' | 'ino'>

/**
 * The node's connection to `state.sqlite`, shared by all parts of the kernel.
 *
 * Work on it is synchronous, so keep it short. All statements go through {@link StateDatabase.use} or
 * {@link StateDatabase.transaction}. While a plugin's migration has a transaction open, reads continue and see the
 * state from before it; writes wait for its end. A call rejects when the database is closed.
 */
export class StateDatabase {
  readonly path: string
  readonly #connection: DatabaseSync
  readonly #sql: Sql
  readonly #file: FileIdentity
  readonly #busyTimeoutMs: number
  /** Rows that this connection has changed. Asking SQLite would double the time of look-ups. */
  #changed = 0
  /** Resolves when the exclusive work that runs now has ended. */
  #exclusiveEnd: Promise<void> | undefined

  constructor(path: string, connection: DatabaseSync, file: FileIdentity, busyTimeoutMs: number) {
    this.path = path
    this.#connection = connection
    const sql = createSql(connection)
    this.#sql = {
      ...sql,
      run: (statement, ...parameters) => {
        const changed = sql.run(statement, ...parameters)
        this.#changed += changed
        return changed
      },
    }
    this.#file = file
    this.#busyTimeoutMs = busyTimeoutMs
  }

  /**
   * Runs statements, each durable when it returns. The work must not be asynchronous. It is repeated when another
   * program holds the file and nothing was changed yet.
   *
   * Rejects with NodekeepError INSUFFICIENT_STORAGE on a full disk, and with SERVICE_UNAVAILABLE when another
   * program holds the file for too long.
   */
  use<T>(work: (sql: Sql) => T): Promise<T> {
    return retryWhileBusy(async () => {
      for (;;) {
        const exclusiveEnd = this.#exclusiveEnd
        try {
          return this.#attempt(work)
        } catch (error) {
          if (exclusiveEnd === undefined || !(error instanceof LockHeld)) throw error
          // A migration of this node may take as long as it needs: this wait does not count as busy time.
          await exclusiveEnd
        }
      }
    }, this.#busyTimeoutMs)
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
   * The work must use the statements that it is given. A write through `use` or `transaction` would wait for the work
   * itself to end.
   */
  exclusiveTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const run = async () => {
      // Closing it rolls back what was not committed.
      using connection = this.#attempt(() => beginOn(this.path))
      const result = await work(createSql(connection))
      connection.exec('COMMIT')
      return result
    }
    return retryWhileBusy(() => this.#exclusively(run), this.#busyTimeoutMs)
  }

  /** Returns a number that changes whenever another connection has changed the database, such as one of another process. */
  async foreignVersion(): Promise<number> {
    return this.use((sql) => Number(sql.get('PRAGMA data_version')?.data_version))
  }

  /** Tells whether the database answers and its file is still in its place. It never waits for a lock. */
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

  /** Waits for an exclusive transaction, then closes. Calling it again does nothing. */
  close(): Promise<void> {
    return this.#exclusively(async () => {
      if (this.#connection.isOpen) this.#connection.close()
    })
  }

  /** Runs work while no other exclusive work runs. If there is none, the work begins synchronously. */
  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    // No `await` may stand between the last check and the assignment.
    while (this.#exclusiveEnd !== undefined) await this.#exclusiveEnd
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#exclusiveEnd = promise
    try {
      return await work()
    } finally {
      this.#exclusiveEnd = undefined
      resolve()
    }
  }

  #attempt<T>(work: (sql: Sql) => T): T {
    this.#assertOpen()
    const before = this.#changed
    try {
      return work(this.#sql)
    } catch (error) {
      const failure = statementFailure(error)
      if (!isBusy(error) || this.#changed !== before) throw failure
      throw new LockHeld('Another connection holds the lock.', { cause: failure })
    }
  }

  #assertOpen(): void {
    if (!this.#connection.isOpen) throw new Error('The state database is closed.')
  }

  /** After some failures, such as a full disk, SQLite has already rolled back by itself. */
  #rollBack(): void {
    if (this.#connection.isOpen && this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
  }
}

/** Makes the health check named `database`, whose state is "connected" or "unreachable". */
export function databaseHealth(database: StateDatabase): HealthCheck {
  return {
    async check() {
      if (await database.isConnected()) return { ok: true, state: 'connected' }
      const message = 'The database of the node cannot be read. Look at the log of the node, and at its disk.'
      return { ok: false, state: 'unreachable', message }
    },
  }
}

/**
 * Opens `<dataFolder>/state.sqlite`, makes the folder (0700) and the file (0600) when they are missing, and
 * brings the tables up to date. Take the lock of the data folder first.
 *
 * @param schema the tables, in the order in which they were introduced
 * @param busyTimeoutMs how long to wait for another program that holds the file, in milliseconds
 * @throws Error with one line for a person: unwritable folder, damaged or emptied file, newer schema, full disk
 */
export async function openStateDatabase(
  dataFolder: string,
  schema: readonly SchemaStep[],
  busyTimeoutMs = 5000,
): Promise<StateDatabase> {
  await refuseEmptied(dataFolder)
  const path = preparePrivateFile(dataFolder, 'state.sqlite')
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
    configure(connection)
    applySchema(connection, schema)
    // From now on a wait within SQLite would block the whole process; see retryWhileBusy.
    connection.exec('PRAGMA busy_timeout = 0')
    return new StateDatabase(path, connection, await stat(path), busyTimeoutMs)
  } catch (error) {
    connection?.close()
    if (!(error instanceof HistoryMismatch)) throw openFailure(path, error, lostStateRemedy)
    throw new Error(
      `${path} was written by a newer version of Nodekeep (${error.message}). Start that version, or restore a backup of this one.`,
      { cause: error },
    )
  }
}

/** The ways out for a person whose state is damaged or was lost. */
const lostStateRemedy =
  'Restore the node from a backup: nodekeep backup restore FILE. To begin anew without its users, move the file away.'

/**
 * Refuses a file that lost its content, such as by a copy onto a full disk. SQLite would take it for a new one, and remove its
 * write-ahead log. A first start that was killed leaves an empty file too, but no folders of plugins: they are made when the
 * state has its tables.
 */
async function refuseEmptied(dataFolder: string): Promise<void> {
  const path = join(dataFolder, 'state.sqlite')
  const sizeOf = async (file: string) => (await stat(file).catch(() => null))?.size ?? null
  const size = await sizeOf(path)
  if (size !== null && size > 0) return
  if (((await sizeOf(`${path}-wal`)) ?? 0) > 0) {
    const remedy = `${lostStateRemedy.slice(0, -1)}, with ${path}-wal.`
    throw new Error(
      `${path} is ${size === null ? 'missing' : 'empty'}, but its write-ahead log is there. ${remedy}`,
    )
  }
  if (size === 0 && (await sizeOf(join(dataFolder, 'plugins'))) !== null) {
    throw new Error(`${path} is empty, although the node has run before. ${lostStateRemedy}`)
  }
}

/** Opens a second connection to an existing database and begins a transaction on it. */
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
 * commits in a power cut. The two fullfsync settings do the same on macOS and have no effect elsewhere. A log that grew
 * during a snapshot gives its space back later.
 */
function configure(connection: DatabaseSync): void {
  connection.exec('PRAGMA journal_mode = WAL')
  connection.exec('PRAGMA synchronous = FULL')
  connection.exec('PRAGMA fullfsync = ON')
  connection.exec('PRAGMA checkpoint_fullfsync = ON')
  connection.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`)
}

/** Another connection had the lock and nothing was changed, so the work can be repeated. */
class LockHeld extends Error {
  override readonly name = 'LockHeld'
}

const longestPauseMs = 100

/**
 * Repeats the work, in growing intervals, while it rejects with {@link LockHeld}. SQLite could wait by itself, but it
 * would block the whole process meanwhile.
 *
 * @param timeoutMs how long to repeat, in milliseconds; then it rejects with the cause of the last error
 */
async function retryWhileBusy<T>(work: () => Promise<T>, timeoutMs: number): Promise<T> {
  const end = performance.now() + timeoutMs
  for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error
      if (performance.now() >= end) throw error.cause
      await pause(pauseMs)
    }
  }
}
