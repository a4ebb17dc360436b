import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeIntent, CommittedChange } from './change.ts'
import { CreatedDates } from './created-dates.ts'

/** The statements that write changes. The caller has a transaction open. */
export class ChangeStatements {
  readonly #created: CreatedDates
  readonly #insert: StatementSync
  readonly #commit: StatementSync
  readonly #discard: StatementSync
  readonly #insertStaged: StatementSync
  readonly #deleteStaged: StatementSync
  readonly #erasing: readonly StatementSync[]
  readonly #keep: StatementSync
  readonly #release: StatementSync
  readonly #renewing: readonly StatementSync[]
  readonly #setEpoch: StatementSync

  constructor(connection: DatabaseSync) {
    this.#created = new CreatedDates(connection)
    this.#insert = connection.prepare(
      `INSERT INTO changes (user, op, path, source, size, revision, by, created, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#commit = connection.prepare(
      `UPDATE changes SET pending = 0 WHERE seq = ? AND pending = 1
       RETURNING user, op, path, source, revision, created`,
    )
    this.#discard = connection.prepare('DELETE FROM changes WHERE seq = ? AND pending = 1')
    this.#insertStaged = connection.prepare('INSERT OR IGNORE INTO staged_moves (user, path) VALUES (?, ?)')
    this.#deleteStaged = connection.prepare('DELETE FROM staged_moves WHERE user = ? AND path = ?')
    this.#erasing = ['changes', 'created', 'pruned', 'staged_moves', 'kept'].map((table) =>
      connection.prepare(`DELETE FROM ${table} WHERE user = ?`),
    )
    this.#keep = connection.prepare(
      'INSERT OR REPLACE INTO kept (user, reader, after, at) VALUES (?, ?, ?, ?)',
    )
    this.#release = connection.prepare('DELETE FROM kept WHERE user = ? AND reader = ?')
    this.#renewing = ['DELETE FROM changes WHERE pending = 0', 'DELETE FROM pruned', 'DELETE FROM kept'].map(
      (statement) => connection.prepare(statement),
    )
    this.#setEpoch = connection.prepare('UPDATE journal SET epoch = ?')
  }

  /** @returns the number of the change */
  begin(intent: ChangeIntent): number {
    const { userUuid, op, path, source, size, revision, by, created, isStaging } = intent
    if (isStaging) this.#insertStaged.run(userUuid, path)
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
      this.#created.apply(change)
      this.#forgetStaged(change)
    }
  }

  erase(userUuid: string): void {
    for (const statement of this.#erasing) statement.run(userUuid)
  }

  /** Begins a new epoch without rows. Intents stay, since their outcome is still open. */
  renew(epoch: string): void {
    this.#setEpoch.run(epoch)
    for (const statement of this.#renewing) statement.run()
  }

  /** Keeps the changes after a number for a reader; `null` releases them. */
  keep(userUuid: string, reader: string, after: number | null): void {
    if (after === null) this.#release.run(userUuid, reader)
    else this.#keep.run(userUuid, reader, after, Date.now())
  }

  /** A staged copy is finished when it gets its final name, and abandoned when it is deleted. */
  #forgetStaged({ user, op, path, source }: CommittedChange): void {
    if (op === 'move' && source !== null) this.#deleteStaged.run(user, source)
    if (op === 'delete') this.#deleteStaged.run(user, path)
  }
}
