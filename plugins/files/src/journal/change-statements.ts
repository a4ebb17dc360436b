import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeIntent, CommittedChange } from './change.ts'
import { CreatedDates, type RestoredDate } from './created-dates.ts'

/** The changes that made a staged copy at a path. `0` is the character after `/`. */
const staged = `user = :user AND staging IN ('begin', 'fill')
  AND (path = :path OR path > :path || '/' AND path < :path || '0')`

/** The statements that write changes. The caller has a transaction open. */
export class ChangeStatements {
  readonly #created: CreatedDates
  readonly #insert: StatementSync
  readonly #insertCommitted: StatementSync
  readonly #commit: StatementSync
  readonly #discard: StatementSync
  readonly #insertStaged: StatementSync
  readonly #deleteStaged: StatementSync
  readonly #showDeletion: StatementSync
  readonly #showStaged: StatementSync
  readonly #dropStaged: StatementSync
  readonly #drop: StatementSync
  readonly #erasing: readonly StatementSync[]
  readonly #retain: StatementSync
  readonly #release: StatementSync
  readonly #renewing: readonly StatementSync[]
  readonly #setEpoch: StatementSync

  constructor(connection: DatabaseSync) {
    this.#created = new CreatedDates(connection)
    this.#insert = connection.prepare(
      `INSERT INTO changes (user, op, path, source, size, revision, by, maker, change_group, created, at, staging)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertCommitted = connection.prepare(
      'INSERT INTO changes (user, pending, op, path, size, revision, by, at) VALUES (?, 0, ?, ?, ?, ?, ?, ?)',
    )
    this.#commit = connection.prepare(
      `UPDATE changes SET pending = 0 WHERE seq = ? AND pending = 1
       RETURNING seq, user, op, path, source, revision, by, maker, change_group, created, staging`,
    )
    this.#discard = connection.prepare('DELETE FROM changes WHERE seq = ? AND pending = 1')
    this.#insertStaged = connection.prepare('INSERT OR IGNORE INTO staged_moves (user, path) VALUES (?, ?)')
    this.#deleteStaged = connection.prepare('DELETE FROM staged_moves WHERE user = ? AND path = ?')
    this.#showDeletion = connection.prepare(
      `INSERT INTO changes (user, pending, op, path, by, maker, change_group, at)
       VALUES (?, 0, 'delete', ?, ?, ?, ?, ?)`,
    )
    this.#showStaged = connection.prepare(
      `INSERT INTO changes (user, pending, op, path, size, revision, by, maker, change_group, at)
       SELECT user, 0, op, :destination || substr(path, length(:path) + 1), size, revision, by, maker, change_group, :at
       FROM changes WHERE ${staged} AND pending = 0 ORDER BY seq`,
    )
    this.#dropStaged = connection.prepare(`DELETE FROM changes WHERE ${staged}`)
    this.#drop = connection.prepare('DELETE FROM changes WHERE seq = ?')
    this.#erasing = [
      ...['changes', 'created', 'pruned', 'staged_moves', 'kept'].map(
        (table) => `DELETE FROM ${table} WHERE user = ?`,
      ),
      "UPDATE changes SET maker = NULL WHERE maker ->> 'user' = ?",
    ].map((statement) => connection.prepare(statement))
    this.#retain = connection.prepare(
      'INSERT OR REPLACE INTO kept (user, reader, after, at) VALUES (?, ?, ?, ?)',
    )
    this.#release = connection.prepare('DELETE FROM kept WHERE user = ? AND reader = ?')
    this.#renewing = [
      'DELETE FROM changes WHERE pending = 0 AND staging IS NULL',
      'DELETE FROM pruned',
      'DELETE FROM kept',
    ].map((statement) => connection.prepare(statement))
    this.#setEpoch = connection.prepare('UPDATE journal SET epoch = ?')
  }

  /** @returns the number of the change */
  begin(intent: ChangeIntent): number {
    const { userUuid, op, path, source, size, revision, by, maker, group, created, staging } = intent
    if (staging === 'begin') this.#insertStaged.run(userUuid, path)
    const { lastInsertRowid } = this.#insert.run(
      userUuid,
      op,
      path,
      source ?? null,
      size ?? null,
      revision ?? null,
      by ?? null,
      maker === undefined ? null : JSON.stringify(maker),
      group ?? null,
      created?.getTime() ?? null,
      Date.now(),
      staging ?? null,
    )
    return Number(lastInsertRowid)
  }

  /**
   * Adds changes that have happened already.
   *
   * @returns the number of the last one
   */
  add(changes: readonly ChangeIntent[]): number {
    let last = 0
    for (const { userUuid, op, path, size, revision, by } of changes) {
      const { lastInsertRowid } = this.#insertCommitted.run(
        userUuid,
        op,
        path,
        size ?? null,
        revision ?? null,
        by ?? null,
        Date.now(),
      )
      last = Number(lastInsertRowid)
    }
    return last
  }

  /** Does nothing when the change is no longer pending. */
  resolve(seq: number, outcome: 'commit' | 'discard'): void {
    if (outcome === 'discard') this.#discard.run(seq)
    else {
      const change = this.#commit.get(seq) as CommittedChange | undefined
      if (change === undefined) return
      this.#created.apply(change)
      this.#endStaging(change)
    }
  }

  restoreCreated(dates: readonly RestoredDate[]): void {
    this.#created.restore(dates)
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
  retainFrom(userUuid: string, reader: string, after: number | null): void {
    if (after === null) this.#release.run(userUuid, reader)
    else this.#retain.run(userUuid, reader, after, Date.now())
  }

  /**
   * Ends a staged copy when it is placed or abandoned. The changes that made a placed copy appear as new changes at its
   * destination: readers may be past the numbers that they have.
   */
  #endStaging({ seq, user, path, source, by, maker, change_group: group, staging }: CommittedChange): void {
    if (staging === null || staging === 'begin' || staging === 'fill') return
    const at = Date.now()
    const copy = staging === 'abandon' ? path : (source as string)
    this.#deleteStaged.run(user, copy)
    if (staging === 'replace') this.#showDeletion.run(user, path, by, maker, group, at)
    if (staging !== 'abandon') this.#showStaged.run({ user, path: copy, destination: path, at })
    this.#dropStaged.run({ user, path: copy })
    this.#drop.run(seq)
  }
}
