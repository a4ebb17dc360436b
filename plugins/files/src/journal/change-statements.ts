import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeFacts, EntryStatements } from '../entries/entry-statements.ts'
import type { ChangeIntent, ChangeRow, CommittedChange } from './change.ts'

/** Rows that one step of an erasure changes at most, so that other changes wait for milliseconds only. */
const stepRows = 300

/** Changes of a staged copy that one step takes. Each is written anew, with its entry and the folders above it. */
const stepChanges = 60

/** The changes that made a staged copy at a path. `0` is the character after `/`. */
const staged = `user = :user AND staging IN ('begin', 'fill')
  AND path >= :path AND path < :path || '0' AND (path = :path OR path > :path || '/')`

/** The statements that write changes. The caller has a transaction open. */
export class ChangeStatements {
  readonly #entries: EntryStatements
  readonly #insert: StatementSync
  readonly #insertCommitted: StatementSync
  readonly #commit: StatementSync
  readonly #discard: StatementSync
  readonly #insertStaged: StatementSync
  readonly #deleteStaged: StatementSync
  readonly #placed: StatementSync
  readonly #begunPlacing: StatementSync
  readonly #stagedRows: StatementSync
  readonly #drop: StatementSync
  readonly #markUndo: StatementSync
  readonly #erasing: readonly StatementSync[]
  readonly #retain: StatementSync
  readonly #release: StatementSync
  readonly #renewing: readonly StatementSync[]
  readonly #setEpoch: StatementSync

  constructor(connection: DatabaseSync, entries: EntryStatements) {
    this.#entries = entries
    this.#insert = connection.prepare(
      `INSERT INTO changes (user, op, path, source, size, revision, by, maker, change_group, created, at, staging, kept, restored)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertCommitted = connection.prepare(
      `INSERT INTO changes (user, pending, indexed, op, path, source, size, revision, by, maker, change_group, at, kept, restored)
       VALUES (?, 0, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#commit = connection.prepare(
      `UPDATE changes SET pending = 0, indexed = 1 WHERE seq = ? AND pending = 1
       RETURNING seq, user, op, path, source, size, revision, by, maker, change_group, created, at, staging, kept, restored`,
    )
    this.#discard = connection.prepare('DELETE FROM changes WHERE seq = ? AND pending = 1')
    this.#insertStaged = connection.prepare('INSERT OR IGNORE INTO staged_moves (user, path) VALUES (?, ?)')
    this.#deleteStaged = connection.prepare('DELETE FROM staged_moves WHERE user = ? AND path = ?')
    this.#placed = connection.prepare(
      `SELECT * FROM changes
       WHERE seq = ? AND pending = 1 AND staging IN ('place', 'replace', 'abandon')`,
    )
    this.#begunPlacing = connection.prepare("UPDATE changes SET staging = 'place' WHERE seq = ?")
    // The index has them in this order, folders before what is in them: a step does not sort all that are left.
    this.#stagedRows = connection.prepare(
      `SELECT * FROM changes WHERE ${staged} ORDER BY path, seq LIMIT ${stepChanges}`,
    )
    this.#drop = connection.prepare('DELETE FROM changes WHERE seq = ?')
    this.#markUndo = connection.prepare(
      `UPDATE changes SET undoes = :undoes WHERE seq =
       (SELECT max(seq) FROM changes WHERE user = :user AND change_group = :group AND staging IS NULL)`,
    )
    this.#erasing = [
      `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE user = ? LIMIT ${stepRows})`,
      'DELETE FROM pruned WHERE user = ?',
      'DELETE FROM staged_moves WHERE user = ?',
      'DELETE FROM kept WHERE user = ?',
      `UPDATE changes SET maker = NULL WHERE seq IN (SELECT seq FROM changes WHERE maker ->> 'user' = ? LIMIT ${stepRows})`,
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
    const {
      userUuid,
      op,
      path,
      source,
      size,
      revision,
      by,
      maker,
      group,
      created,
      staging,
      keptAs,
      restores,
    } = intent
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
      keptAs ?? null,
      restores ?? null,
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
    for (const { userUuid: user, maker, group, modified, ...change } of changes) {
      const { op, path, source = null, size = null, revision = null, by = null } = change
      const made = { maker: maker === undefined ? null : JSON.stringify(maker), change_group: group ?? null }
      const facts = modified === undefined ? {} : { modified: modified.getTime() }
      last = this.#show({ ...nothing, user, op, path, source, size, revision, by, ...made }, facts)
    }
    return last
  }

  /** Does nothing when the change is no longer pending. */
  resolve(seq: number, outcome: 'commit' | 'discard', facts?: ChangeFacts): void {
    if (outcome === 'discard') this.#discard.run(seq)
    else {
      const change = this.#commit.get(seq) as CommittedChange | undefined
      if (change?.staging === null) this.#entries.apply(change, facts)
    }
  }

  /**
   * The steps of a change that places or abandons a staged copy, or restores from the trash; null for another one. Each returns whether it
   * was the last one. After one that failed, they begin anew.
   */
  stepsOf(seq: number): (() => boolean) | null {
    const change = this.#placed.get(seq) as CommittedChange | undefined
    if (change === undefined) return null
    return change.restored === null ? () => this.#endStaging(seq) : this.#restoring(change)
  }

  /**
   * Ends a staged copy that is placed or abandoned, step by step. The changes that made a placed copy appear as new changes at its
   * destination: readers may be past the numbers that they have. They may read some of them before the last step: the storage has all
   * of the copy at its destination by then.
   *
   * @returns whether it was the last step
   */
  #endStaging(seq: number): boolean {
    const change = this.#placed.get(seq) as CommittedChange | undefined
    if (change === undefined) return true
    const { user, path, source, by, maker, change_group, staging, kept } = change
    const copy = staging === 'abandon' ? path : (source as string)
    if (staging === 'replace') {
      this.#show({ ...nothing, user, op: 'delete', path, by, maker, change_group, kept })
      this.#begunPlacing.run(seq)
    }
    const rows = this.#stagedRows.all({ user, path: copy }) as unknown as (ChangeRow & { pending: number })[]
    for (const row of rows) {
      if (staging !== 'abandon' && row.pending === 0) {
        const replaces = staging === 'place' && row.path === copy
        this.#show({ ...row, path: path + row.path.slice(copy.length), kept: replaces ? kept : null })
      }
      this.#drop.run(row.seq)
    }
    if (rows.length === stepChanges) return false
    this.#deleteStaged.run(user, copy)
    this.#drop.run(seq)
    return true
  }

  /** Readers get what is restored as new changes. If the steps begin anew, they get some of them twice, which tells them nothing new. */
  #restoring({ seq, ...change }: CommittedChange): () => boolean {
    let entries: ReturnType<EntryStatements['restoreKept']> | undefined
    return () => {
      // The user may have been erased.
      if (this.#placed.get(seq) === undefined) return true
      entries ??= this.#entries.restoreKept(change)
      for (let left = stepRows; left > 0; left -= 1) {
        const { value } = entries.next()
        if (value === undefined) {
          this.#drop.run(seq)
          return true
        }
        const restored = value.path === change.path ? change.restored : null
        this.#insertShown({ ...change, ...nothing, ...value, restored, at: Date.now() })
      }
      return false
    }
  }

  /** Takes note, at the newest change of an undo, of what it has taken back. */
  markUndo(user: string, group: string, undoes: number): void {
    this.#markUndo.run({ user, group, undoes })
  }

  /**
   * Deletes what the journal has of a user, step by step.
   *
   * @returns whether it was the last step
   */
  erase(userUuid: string): boolean {
    return this.#erasing.every((statement) => statement.run(userUuid).changes < stepRows)
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

  /** Writes a change that has happened, and its entries. */
  #show(change: Omit<Shown, 'at'>, facts?: ChangeFacts): number {
    const at = Date.now()
    const { lastInsertRowid } = this.#insertShown({ ...change, at })
    this.#entries.apply({ ...change, at }, facts)
    return Number(lastInsertRowid)
  }

  #insertShown(change: Shown) {
    const {
      user,
      op,
      path,
      source,
      size,
      revision,
      by,
      maker,
      change_group: group,
      at,
      kept,
      restored,
    } = change
    return this.#insertCommitted.run(
      user,
      op,
      path,
      source,
      size,
      revision,
      by,
      maker,
      group,
      at,
      kept,
      restored,
    )
  }
}

/** A change that readers see. */
type Shown = Omit<CommittedChange, 'seq' | 'staging'>

const nothing = { source: null, size: null, revision: null, created: null, kept: null, restored: null }
