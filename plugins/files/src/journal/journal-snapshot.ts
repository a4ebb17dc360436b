import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type CreatedDate, createdDateOf, createdIf, type FileVersion, splitPath } from './created-dates.ts'

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
  #created: StatementSync
  readonly #users = new Map<string, PendingFacts>()

  constructor(file: string) {
    this.#connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    this.#created = this.#connection.prepare(createdIn('main.created'))
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
    const pending = `SELECT user, op, path, source, revision, created FROM changes
      WHERE pending = 1 AND (op = 'move' OR created IS NOT NULL) ORDER BY seq`
    for await (const { user, op, path, source, ...date } of rowsOf(connection, pending, signal)) {
      const { moves, writes } = this.#of(String(user))
      if (op === 'move') moves.push({ path: String(path), source: String(source) })
      else writes.set(String(path), createdDateOf(date))
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
      `CREATE TEMP TABLE dates (user, folder, name, revision, created, PRIMARY KEY (user, folder, name)) WITHOUT ROWID`,
    )
    const copyPage = connection.prepare(
      `INSERT INTO dates SELECT user, folder, name, revision, created FROM main.created
       WHERE (user, folder, name) > (?, ?, ?) ORDER BY user, folder, name LIMIT ${pageSize}`,
    )
    const lastCopied = connection.prepare(
      'SELECT user, folder, name FROM dates ORDER BY user DESC, folder DESC, name DESC LIMIT 1',
    )
    let last: [user: string, folder: string, name: string] = ['', '', '']
    while (copyPage.run(...last).changes === pageSize) {
      const { user, folder, name } = lastCopied.get() as Record<'user' | 'folder' | 'name', string>
      last = [user, folder, name]
      await setImmediate()
      signal.throwIfAborted()
    }
    this.#created = connection.prepare(createdIn('dates'))
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
    const { folder, name } = splitPath(path)
    const row = this.#created.get(userUuid, folder, name)
    const written = this.#users.get(userUuid)?.writes.get(path)
    return createdIf(row && createdDateOf(row), file) ?? createdIf(written, file)
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

function createdIn(table: 'main.created' | 'dates'): string {
  return `SELECT revision, created FROM ${table} WHERE user = ? AND folder = ? AND name = ?`
}
