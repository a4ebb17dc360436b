import type { DatabaseSync, StatementSync } from 'node:sqlite'

const dayMs = 24 * 60 * 60 * 1000
/** Milliseconds after which a reader is forgotten that has not said again what it needs. */
const forgetReaderMs = 365 * dayMs
/** Rows that one step removes at most. Writers then wait for milliseconds only. */
const stepRows = 1000

/** Deletes old changes: for each user, all up to a number. */
export class Retention {
  readonly #connection: DatabaseSync
  readonly #keepMs: number
  readonly #bound: StatementSync
  readonly #users: StatementSync

  constructor(connection: DatabaseSync, options: { readonly keepDays: number; readonly keepNewest: number }) {
    this.#connection = connection
    this.#keepMs = options.keepDays * dayMs
    this.#users = connection.prepare('SELECT DISTINCT user FROM changes WHERE staging IS NULL')
    const keepNewest = Math.floor(options.keepNewest)
    // The last change to delete. It and all before it are old, not among the newest, before any
    // pending one, and needed by no reader. A change of the future, of a clock that was ahead, holds back no others. If the newest
    // one is, the clock is behind now, and nobody knows which are old.
    this.#bound = connection.prepare(`
      SELECT max(seq) AS through FROM (
        SELECT seq FROM changes WHERE user = :user AND staging IS NULL
          AND seq <= (SELECT seq FROM changes WHERE user = :user AND staging IS NULL ORDER BY seq DESC LIMIT 1 OFFSET ${keepNewest})
          AND seq < ifnull((SELECT seq FROM changes WHERE user = :user AND staging IS NULL AND at > :oldest AND at <= :now ORDER BY seq LIMIT 1), seq + 1)
          AND :now >= (SELECT at FROM changes WHERE user = :user AND staging IS NULL ORDER BY seq DESC LIMIT 1)
          AND seq < ifnull((SELECT min(seq) FROM changes WHERE user = :user AND pending = 1 AND staging IS NULL), seq + 1)
          AND seq <= ifnull((SELECT min(after) FROM kept WHERE user = :user AND at > :heard), seq)
        ORDER BY seq LIMIT ${stepRows}
      )`)
  }

  /** Users who have changes. */
  users(): string[] {
    return this.#users.all().map(({ user }) => String(user))
  }

  /**
   * Deletes some of a user's old changes. On a full disk it does nothing; a later run tries again.
   *
   * @returns whether more old changes may be left
   */
  step(user: string): boolean {
    const now = Date.now()
    const through = this.#bound.get({
      user,
      now,
      oldest: now - this.#keepMs,
      heard: now - forgetReaderMs,
    })?.through
    if (typeof through !== 'number') return false
    this.#connection.exec('BEGIN IMMEDIATE')
    try {
      this.#connection
        .prepare(
          'INSERT OR REPLACE INTO pruned (user, through, id) SELECT user, seq, id FROM changes WHERE seq = ?',
        )
        .run(through)
      this.#connection
        .prepare('DELETE FROM changes WHERE user = ? AND seq <= ? AND staging IS NULL')
        .run(user, through)
      this.#connection.exec('COMMIT')
      return true
    } catch {
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
      return false
    }
  }
}
