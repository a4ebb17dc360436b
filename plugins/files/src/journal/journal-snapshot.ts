import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type CreatedDate, createdIf, type DatedFile } from '../entries/created-date.ts'
import { EntryReader } from '../entries/entry-reader.ts'
import type { RestoredKept } from '../entries/entry-statements.ts'
import type { IndexedMounts } from '../entries/entry-tables.ts'

/** Rows that are read or copied in one turn of the event loop. */
const pageSize = 2000

/** Something kept, as {@link JournalSnapshot.keptFact} tells it. */
interface KeptFact {
  readonly isIncluded: boolean
  /** When its file was created; null where the storage knows. */
  readonly created: Date | null
}

/** Something kept, for the list of a backup. */
export interface KeptFile extends Omit<RestoredKept, 'of'> {
  /** The file of which it is a version, by its names from the root of its storage on, or from the folder of kept files on. */
  readonly of: { readonly isKept: boolean; readonly names: readonly string[] } | null
}

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
  #keptFact: StatementSync | null = null
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

  /**
   * Copies the facts of what is kept. Call it before {@link copyDates}. A version is left out if its file is gone, or lies in the trash and
   * that is left out.
   *
   * @throws the reason of the signal, or an error of the disk for temporary files
   */
  async copyKept(
    include: { readonly trash: boolean; readonly versions: boolean },
    lineOf: (kept: KeptFile) => string,
    signal: AbortSignal,
  ): Promise<void> {
    const connection = this.#connection
    connection.exec(
      `CREATE TEMP TABLE kept_facts (number INTEGER PRIMARY KEY, storage, user, name, created, line);
       CREATE UNIQUE INDEX temp.kept_facts_by_name ON kept_facts (storage, user, name)`,
    )
    const page = connection.prepare(
      `SELECT k.number, k.user, t.storage, e.name, e.type, e.created, k.of, k.path, k.at, k.maker, k.change_group
       FROM kept_entries k CROSS JOIN entries e ON e.id = k.entry CROSS JOIN trees t ON t.id = e.tree AND t.kept_root = e.parent
       CROSS JOIN storages s ON s.name = t.storage AND s.id = t.storage_id
       WHERE k.number > ? ORDER BY k.number LIMIT ${pageSize}`,
    )
    const copy = connection.prepare('INSERT INTO kept_facts VALUES (?, ?, ?, ?, ?, ?)')
    for (let last = 0, rows = page.all(last); rows.length > 0; rows = page.all(last)) {
      for (const row of rows) {
        const { number, user, storage, name, type, created, path, at, maker, change_group: group } = row
        last = Number(number)
        const isVersion = row.of !== null
        const of = isVersion ? this.#entries.placeOf(Number(row.of)) : null
        const isIncluded = isVersion
          ? include.versions && of !== null && (include.trash || !of.isKept)
          : include.trash
        const kept: KeptFile = {
          storage: String(storage),
          userUuid: String(user),
          keptName: String(name),
          type: type === 'file' ? 'file' : 'directory',
          of,
          path: String(path),
          at: Number(at),
          maker: maker as string | null,
          group: group as string | null,
        }
        const line = isIncluded ? lineOf(kept) : null
        copy.run(last, kept.storage, kept.userUuid, kept.keptName, created ?? null, line)
      }
      await setImmediate()
      signal.throwIfAborted()
    }
    this.#keptFact = connection.prepare(
      'SELECT created, line IS NOT NULL AS included FROM kept_facts WHERE storage = ? AND user = ? AND name = ?',
    )
  }

  /** Tells about something kept; null where the index does not know it yet. */
  keptFact(storage: string, userUuid: string, keptName: string): KeptFact | null {
    const row = this.#keptFact?.get(storage, userUuid, keptName)
    if (row === undefined) return null
    const { included, created } = row
    return { isIncluded: included === 1, created: created === null ? null : new Date(Number(created)) }
  }

  /** The bytes of all {@link keptLines}. */
  keptBytes(): number {
    const sum = 'SELECT total(length(CAST(line AS BLOB))) AS bytes FROM kept_facts'
    return Number(this.#connection.prepare(sum).get()?.bytes)
  }

  /** The lines of what is kept, in the order in which it came to be kept. */
  async *keptLines(): AsyncGenerator<string, void, undefined> {
    const page = this.#connection.prepare(
      `SELECT number, line FROM kept_facts WHERE number > ? AND line IS NOT NULL ORDER BY number LIMIT ${pageSize}`,
    )
    for (let last = 0, rows = page.all(last); rows.length > 0; rows = page.all(last)) {
      last = Number(rows.at(-1)?.number)
      yield rows.map(({ line }) => String(line)).join('')
      await setImmediate()
    }
  }

  /** Whether the path is that of a copy that does not have its final name yet. */
  isStaged(userUuid: string, path: string): boolean {
    return this.#users.get(userUuid)?.staged.has(path) === true
  }

  /** When a file of the snapshot was created that was overwritten or restored since; `null` where its backend knows. */
  createdOf(userUuid: string, path: string, file: DatedFile): Date | null {
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

  #createdAt(userUuid: string, path: string, file: DatedFile): Date | null {
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
