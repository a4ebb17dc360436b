import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type CreatedDate, createdIf, type FileVersion } from '../entries/created-date.ts'
import { EntryReader } from '../entries/entry-reader.ts'
import type { IndexedMounts } from '../entries/entry-tables.ts'

/** Rows that are read or copied in one turn of the event loop. */
const pageSize = 2000

/** A pending move of a user. Only the storage knows whether it was applied. */
interface PendingMove {
  readonly path: string
  readonly source: string
}

/** The facts of one user that are not in the tables of their own yet. */
interface PendingFacts {
  /** The paths of copies that do not have their final name yet. */
  readonly staged: Set<string>
  readonly moves: PendingMove[]
  /** The dates of overwritten files, by path. */
  readonly writes: Map<string, CreatedDate>
}

/**
 * The journal as it was at one time, for a snapshot of the storages at the same time. Changes that the storages applied just
 * before may still be pending in it. Until it has copied what it needs, the write-ahead log of the journal cannot shrink.
 */
export class JournalSnapshot {
  readonly #connection: DatabaseSync
  readonly #entries: EntryReader
  readonly #mounts: IndexedMounts
  /** The dates that were copied; null until all are. */
  #copied: StatementSync | null = null
  readonly #users = new Map<string, PendingFacts>()

  constructor(file: string, mounts: IndexedMounts) {
    this.#connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    this.#entries = new EntryReader(this.#connection, mounts)
    this.#mounts = mounts
  }

  /** Fixes the state. Call it once, while all storages stand still. What it shows is read later: see {@link load}. */
  fix(): void {
    this.#connection.exec('BEGIN')
    // The first read begins the transaction.
    this.#connection.prepare('SELECT 1 FROM journal').get()
  }

  /**
   * Reads the facts that were pending in the state. Call it before the snapshot is asked for anything.
   *
   * @throws the reason of the signal
   */
  async load(signal: AbortSignal): Promise<void> {
    const connection = this.#connection
    for await (const { user, path } of rowsOf(connection, 'SELECT user, path FROM staged_moves', signal))
      this.#of(String(user)).staged.add(String(path))
    // The files of a staged copy get their entries when it is placed.
    const pending = `SELECT user, path, source, size, revision, created FROM changes
      WHERE (pending = 1 OR staging IS NOT NULL) AND (source IS NOT NULL OR created IS NOT NULL) ORDER BY seq`
    for await (const { user, path, source, ...date } of rowsOf(connection, pending, signal)) {
      const { moves, writes } = this.#of(String(user))
      if (source !== null) moves.push({ path: String(path), source: String(source) })
      else writes.set(String(path), { ...date, modified: null } as CreatedDate)
    }
  }

  /**
   * Copies the dates of the snapshot, so that the journal need not keep its state for hours: its log would grow, and erased users
   * would stay in its file.
   *
   * @throws the reason of the signal, or an error of the disk for temporary files
   */
  async copyDates(signal: AbortSignal): Promise<void> {
    const connection = this.#connection
    connection.exec(
      'CREATE TEMP TABLE dates (user, path, revision, size, modified, created, PRIMARY KEY (user, path)) WITHOUT ROWID',
    )
    const page = connection.prepare(
      `SELECT parent, entries.id, user, storage, revision, size, modified, created
       FROM entries JOIN trees ON trees.id = entries.tree
       JOIN storages ON storages.name = trees.storage AND storages.id = trees.storage_id
       WHERE created IS NOT NULL AND (parent, entries.id) > (?, ?) ORDER BY parent, entries.id LIMIT ${pageSize}`,
    )
    const copy = connection.prepare('INSERT OR REPLACE INTO dates VALUES (?, ?, ?, ?, ?, ?)')
    for (let last = [0, 0], rows = page.all(...last); rows.length > 0; rows = page.all(...last)) {
      for (const { parent, id, user, storage, revision, size, modified, created } of rows) {
        last = [Number(parent), Number(id)]
        const point = this.#mounts.find(([, name]) => name === storage)?.[0]
        const names = this.#entries.namesOf(Number(id))
        if (point === undefined || names === null) continue
        const path = `${point === '/' ? '' : point}/${names.join('/')}`
        copy.run(
          user as string,
          path,
          revision as string | null,
          Number(size),
          modified ?? null,
          created ?? null,
        )
      }
      await setImmediate()
      signal.throwIfAborted()
    }
    this.#copied = connection.prepare(
      'SELECT revision, size, modified, created FROM dates WHERE user = ? AND path = ?',
    )
    connection.exec('COMMIT')
  }

  /** Whether the path is that of a copy that does not have its final name yet. */
  isStaged(userUuid: string, path: string): boolean {
    return this.#users.get(userUuid)?.staged.has(path) === true
  }

  /** When a file of the snapshot was created that was overwritten or restored since; `null` where its backend knows. */
  createdOf(userUuid: string, path: string, file: FileVersion): Date | null {
    const found = this.#createdAt(userUuid, path, file)
    if (found !== null) return found
    // If a pending move brought the file here, its date is still at its former path. The revision tells.
    for (const move of this.#users.get(userUuid)?.moves ?? []) {
      if (path !== move.path && !path.startsWith(`${move.path}/`)) continue
      const former = this.#createdAt(userUuid, `${move.source}${path.slice(move.path.length)}`, file)
      if (former !== null) return former
    }
    return null
  }

  close(): void {
    this.#connection.close()
  }

  #createdAt(userUuid: string, path: string, file: FileVersion): Date | null {
    const known =
      this.#copied === null
        ? this.#entries.createdOf(userUuid, path, file)
        : createdIf(this.#copied.get(userUuid, path) as CreatedDate | undefined, file)
    return known ?? createdIf(this.#users.get(userUuid)?.writes.get(path), file)
  }

  #of(userUuid: string): PendingFacts {
    const known = this.#users.get(userUuid) ?? { staged: new Set(), moves: [], writes: new Map() }
    this.#users.set(userUuid, known)
    return known
  }
}

async function* rowsOf(
  connection: DatabaseSync,
  statement: string,
  signal: AbortSignal,
): AsyncGenerator<Record<string, SQLOutputValue>, void, undefined> {
  let count = 0
  for (const row of connection.prepare(statement).iterate()) {
    yield row
    count += 1
    if (count % pageSize > 0) continue
    await setImmediate()
    signal.throwIfAborted()
  }
}
