import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { CreatedDates } from './created-dates.ts'
import type { ChangeIntent } from './journal.ts'
import { LongestPaths } from './longest-paths.ts'
import { Stopovers } from './stopovers.ts'

/** The statements that write changes. Whoever calls them has a transaction open. */
export class Ledger {
  readonly #created: CreatedDates
  readonly #insert: StatementSync
  readonly #commit: StatementSync
  readonly #discard: StatementSync
  readonly #longest: LongestPaths
  readonly #stopovers: Stopovers
  readonly #erasing: readonly StatementSync[]

  constructor(connection: DatabaseSync) {
    this.#created = new CreatedDates(connection)
    this.#longest = new LongestPaths(connection)
    this.#stopovers = new Stopovers(connection)
    this.#insert = connection.prepare(
      `INSERT INTO changes (user, op, path, source, size, revision, by, created, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#commit = connection.prepare(
      `UPDATE changes SET pending = 0 WHERE seq = ? AND pending = 1
       RETURNING user, op, path, source, revision, created`,
    )
    this.#discard = connection.prepare('DELETE FROM changes WHERE seq = ? AND pending = 1')
    this.#erasing = ['changes', 'created', 'pruned', 'longest', 'stopovers'].map((table) =>
      connection.prepare(`DELETE FROM ${table} WHERE user = ?`),
    )
  }

  /** @returns the number of the change */
  begin(intent: ChangeIntent): number {
    const { userUuid, op, path, source, size, revision, by, created } = intent
    this.#longest.note(intent)
    this.#stopovers.note(intent)
    const { lastInsertRowid } = this.#insert.run(
      userUuid,
      op,
      path,
      source ?? null,
      size ?? null,
      revision ?? null,
      by ?? null,
      created?.getTime() ?? null,
      Date.now(),
    )
    return Number(lastInsertRowid)
  }

  /** Does nothing when the change is no longer pending. */
  resolve(seq: number, outcome: 'commit' | 'discard'): void {
    if (outcome === 'discard') this.#discard.run(seq)
    else {
      const change = this.#commit.get(seq) as CommittedChange | undefined
      if (change === undefined) return
      this.#created.follow(change)
      this.#stopovers.follow(change)
    }
  }

  erase(userUuid: string): void {
    for (const statement of this.#erasing) statement.run(userUuid)
  }
}

/** What of a change matters to the dates of files. */
export interface CommittedChange {
  readonly user: string
  readonly op: ChangeIntent['op']
  readonly path: string
  readonly source: string | null
  readonly revision: string | null
  /** Milliseconds since 1970. */
  readonly created: number | null
}
