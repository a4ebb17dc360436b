import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { type FileChange, NodekeepError } from '@nodekeep/plugin-sdk'
import { EntryReader } from '../entries/entry-reader.ts'
import type { IndexedMounts } from '../entries/entry-tables.ts'
import { KeptReader } from '../entries/kept-reader.ts'
import {
  type ChangedPaths,
  type ChangeRow,
  changeOf,
  intentOf,
  keptNames,
  type PendingIntent,
  type RecordedChange,
} from './change.ts'

/**
 * A user's changes before the first pending one: their outcomes are known, and no change can appear between them. Those of
 * staged copies are left out. They hold nothing back, because they appear with new numbers.
 */
const resolved = `user = :user AND staging IS NULL AND seq < ifnull(
  (SELECT min(seq) FROM changes WHERE user = :user AND pending = 1 AND staging IS NULL), 9223372036854775807)`

/** Changes that {@link JournalReader.newest} looks through. It takes some milliseconds. */
const mostLookedThrough = 10_000

/** Reads the journal on its own connection, which never waits for syncs of the disk. */
export class JournalReader {
  readonly #connection: DatabaseSync
  readonly #head: StatementSync
  readonly #read: StatementSync
  readonly #newest: StatementSync
  readonly #inGroup: StatementSync
  readonly #since: StatementSync
  readonly #pruned: StatementSync
  readonly #idOf: StatementSync
  readonly #pending: StatementSync
  readonly #pendingPaths: StatementSync
  readonly #entries: EntryReader
  readonly #kept: KeptReader

  constructor(file: string, mounts: IndexedMounts) {
    const connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    this.#connection = connection
    this.#entries = new EntryReader(connection, mounts)
    this.#kept = new KeptReader(connection)
    this.#head = connection.prepare(`SELECT seq FROM changes WHERE ${resolved} ORDER BY seq DESC LIMIT 1`)
    this.#read = connection.prepare(
      `SELECT * FROM changes WHERE ${resolved} AND seq > :after ORDER BY seq LIMIT :limit`,
    )
    const isWithin = (column: string) =>
      `${column} = :path OR substr(${column}, 1, length(:inside)) = :inside`
    this.#newest = connection.prepare(
      `SELECT * FROM (SELECT * FROM changes WHERE ${resolved} ORDER BY seq DESC LIMIT ${mostLookedThrough})
       WHERE ${isWithin('path')} OR ${isWithin('source')} ORDER BY seq DESC LIMIT :limit`,
    )
    this.#inGroup = connection.prepare(
      'SELECT * FROM changes WHERE user = ? AND change_group = ? AND staging IS NULL ORDER BY seq DESC LIMIT ?',
    )
    this.#since = connection.prepare(
      'SELECT * FROM changes WHERE user = ? AND seq > ? AND staging IS NULL ORDER BY seq LIMIT ?',
    )
    this.#pruned = connection.prepare('SELECT through FROM pruned WHERE user = ?')
    this.#idOf = connection.prepare(
      `SELECT id FROM changes WHERE seq = :seq AND user = :user AND pending = 0 AND staging IS NULL
       UNION ALL SELECT id FROM pruned WHERE user = :user AND through = :seq`,
    )
    this.#pending = connection.prepare('SELECT * FROM changes WHERE pending = 1 ORDER BY seq')
    this.#pendingPaths = connection.prepare(
      'SELECT path, source, kept, restored FROM changes WHERE user = ? AND pending = 1',
    )
  }

  epoch(): string {
    this.#checkOpen()
    return String(this.#connection.prepare('SELECT epoch FROM journal').get()?.epoch)
  }

  head(user: string): number {
    this.#checkOpen()
    return Number(this.#head.get({ user })?.seq ?? this.#pruned.get(user)?.through ?? 0)
  }

  /** The id of a change that readers have, or may have had; empty for 0. `null` if the number is that of no such change. */
  idOf(user: string, seq: number): string | null {
    this.#checkOpen()
    if (seq === 0) return ''
    const id = this.#idOf.get({ user, seq })?.id
    return typeof id === 'string' ? id : null
  }

  read(user: string, after: number, limit: number): FileChange[] {
    this.#checkOpen()
    checkNumber('after', after, 0)
    checkNumber('limit', limit, 1)
    const head = this.head(user)
    // Most readers have everything, and the query for rows takes six times as long as that for the head.
    const rows = head > after ? (this.#read.all({ user, after, limit }) as unknown as ChangeRow[]) : []
    // This comes last: if rows are pruned between the queries, it shows that.
    const through = Number(this.#pruned.get(user)?.through ?? 0)
    if (rows.length === 0 && after > Math.max(through, head)) {
      throw new NodekeepError(
        'CONFLICT',
        `There is no change with the number ${after} yet. List the files again and continue from the newest number.`,
      )
    }
    if (after < through) {
      throw new NodekeepError(
        'CONFLICT',
        `The changes after number ${after} are no longer kept. List the files again and continue from the newest number.`,
      )
    }
    return rows.map((row) => this.#withContent(changeOf(row), user))
  }

  newest(user: string, path: string, limit: number): FileChange[] {
    this.#checkOpen()
    const inside = path === '/' ? path : `${path}/`
    const rows = this.#newest.all({ user, path, inside, limit }) as unknown as ChangeRow[]
    return rows.map((row) => this.#withContent(changeOf(row), user))
  }

  inGroup(user: string, group: string, limit: number): RecordedChange[] {
    this.#checkOpen()
    return this.#inGroup.all(user, group, limit).map(recordedOf)
  }

  since(user: string, seq: number, limit: number): RecordedChange[] {
    this.#checkOpen()
    return this.#since.all(user, seq, limit).map(recordedOf)
  }

  pending(): PendingIntent[] {
    this.#checkOpen()
    return (this.#pending.all() as unknown as ChangeRow[]).map(intentOf)
  }

  pendingPaths(user: string): ChangedPaths[] {
    this.#checkOpen()
    const rows = this.#pendingPaths.all(user) as unknown as ChangeRow[]
    return rows.map(({ path, source, ...names }) => ({
      path,
      ...(source !== null && { source }),
      ...keptNames(names),
    }))
  }

  /** Reads the index. */
  get entries(): EntryReader {
    this.#checkOpen()
    return this.#entries
  }

  /** Reads what is kept of deleted and replaced files. */
  get kept(): KeptReader {
    this.#checkOpen()
    return this.#kept
  }

  stagedMoves(): { readonly userUuid: string; readonly path: string }[] {
    this.#checkOpen()
    const rows = this.#connection.prepare('SELECT user, path FROM staged_moves').all()
    return rows.map(({ user, path }) => ({ userUuid: String(user), path: String(path) }))
  }

  close(): void {
    if (this.#connection.isOpen) this.#connection.close()
  }

  /** A change, and what the index knows of the file if it still has the revision of the change. */
  #withContent(change: FileChange, user: string): FileChange {
    if (change.revision === undefined) return change
    const entry = this.#entries.at(user, change.path)
    if (entry === null || entry.revision !== change.revision) return change
    const { modified, sha256 } = entry
    return {
      ...change,
      ...(modified !== null && { modified: new Date(modified) }),
      ...(sha256 !== null && { hash: sha256 }),
    }
  }

  #checkOpen(): void {
    if (this.#connection.isOpen) return
    throw new NodekeepError('SERVICE_UNAVAILABLE', 'The journal of files is closed. Restart the node.')
  }
}

function recordedOf(row: unknown): RecordedChange {
  const recorded = row as ChangeRow & { readonly pending: number }
  const { pending, undoes } = recorded
  return { ...intentOf(recorded), isPending: pending === 1, ...(undoes !== null && { undoes }) }
}

function checkNumber(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return
  throw new NodekeepError('VALIDATION_ERROR', `"${name}" must be a whole number, at least ${least}.`)
}
