import type { DatabaseSync } from 'node:sqlite'
import { PathTable } from './path-table.ts'
import type { LocalFileEntry, RemoteEntry, RemoteFileEntry } from './ports.ts'
import { StateDatabase } from './state-database.ts'
import { SyncFailure } from './sync-failure.ts'

/** The last state that the device and the node had in common at a path. */
type Common =
  | { readonly type: 'directory' }
  | {
      readonly type: 'file'
      readonly sha256: string
      readonly revision: string
      /** The identity that the local file has as long as nobody writes to it. Empty if the local file was another one. */
      readonly identity: string
      readonly moveIdentity: string
    }

/** A common state as it is stored. */
export type CommonRecord = Common & {
  /** The number of resets with a node before this was recorded. */
  readonly generation: number
}

/** The state in which a change of the journal left a path: a file with a revision, a folder, or nothing. */
export type Outcome =
  | { readonly type: 'directory' }
  | { readonly type: 'file'; readonly revision: string }
  | null

/** An entry of the node, and the SHA-256 of a file once it is known. */
export type RemoteRecord = RemoteEntry & { readonly sha256?: string }

/** The most files and folders of a node, and bytes of their paths. A node that is hostile could list them without end. */
export const mostEntries = 1_000_000
export const mostPathBytes = 256 * 1024 ** 2

/** The failure for a node that lists more. */
export function tooManyEntries(): SyncFailure {
  return new SyncFailure(
    'stop',
    `The node lists more than ${mostEntries.toLocaleString('en')} files and folders, or too long paths. A client cannot sync more.`,
  )
}

/** The outcome that the journal reports for a path. `tree` stands for a move, with all that is below the path. */
export type Told = Outcome | 'tree'

type Unconfirmed = 'asked' | 'seen' | 'recorded' | 'doubted'

/** Where the device stands in the journal of the node. */
interface Position {
  readonly epoch: string
  readonly cursor: number
  /** The id of the change at the cursor. Left out if the node did not send it. */
  readonly changeId?: string
  /** The listing with which the knowledge of the node begins. Left out if the node did not name it. */
  readonly listing?: string
}

/**
 * The knowledge of the device that survives a restart: the common states, the files of the node as they were seen last, and the changes
 * that it must still scan. It is a database. Tables that stay small are in memory too. After a crash, the newest records may be
 * missing. That is safe: the device then compares the contents. On a full disk, a change happens neither in the database nor in memory,
 * and fails with SyncFailure `unavailable`. If the database cannot be read, every method may fail with SyncFailure `stop`.
 */
export class SyncState {
  readonly common: PathTable<CommonRecord>
  readonly remote: PathTable<RemoteRecord>
  /** Paths of the node that may have changed, with their outcomes in the journal, as far as they are known. */
  readonly dirtyRemote = new Map<string, Told | undefined>()
  /** SHA-256 of what was sent to a path of the node without a known outcome. An earlier one may still arrive. */
  readonly unansweredUploads = new Map<string, ReadonlySet<string>>()
  /**
   * Paths of which the device knows more than the journal has reported. The knowledge may be wrong by now: if the node was put back to
   * an older state, its journal does not report that it has something else there.
   *
   * - `asked`: this device has asked the node for a change, and has no answer.
   * - `seen`: a scan has found something that is not the common state yet.
   * - `recorded`: the common state may be such knowledge, of the present connection.
   * - `doubted`: the same, of a connection before.
   */
  readonly unconfirmed = new Map<string, Unconfirmed>()
  /** Counts the changes that this process has asked for. */
  asks = 0
  /** The number of the last change that this process has asked for at a path. */
  readonly #asked = new Map<string, number>()
  readonly #settings = new Map<string, string>()
  #files = 0
  readonly #database: StateDatabase
  #isInTransaction = false

  /**
   * Opens or makes the database.
   *
   * @throws errors of SQLite; `ERR_SQLITE_ERROR` with `errcode` 5 if another process has the folder open
   */
  constructor(database: DatabaseSync) {
    // The tables `looks` and `offers` are those of `dirtyRemote` and `unansweredUploads`, by the names that they had first.
    // The lock holds until the connection closes, so a second client of the same folder is refused.
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
      BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS common (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS common_revisions ON common (record ->> 'revision', record ->> 'generation');
      CREATE INDEX IF NOT EXISTS common_moves ON common (record ->> 'moveIdentity', record ->> 'generation');
      CREATE TABLE IF NOT EXISTS remote (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS looks (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS offers (path TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (path, sha256))
        STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS unconfirmed (path TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      COMMIT;
    `)
    this.#database = new StateDatabase(database)
    this.common = new PathTable(this.#database, 'common')
    this.remote = new PathTable(this.#database, 'remote')
    this.#load()
  }

  /** Number of files in the common state. */
  get files(): number {
    return this.#files
  }

  setting(name: string): string | undefined {
    return this.#settings.get(name)
  }

  set(name: string, value: string): void {
    this.#database.run('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value)
    this.#settings.set(name, value)
  }

  get position(): Position | null {
    const names = ['epoch', 'cursor', 'changeId', 'listing']
    const [epoch, cursor, changeId, listing] = names.map((name) => this.setting(name))
    if (epoch === undefined || cursor === undefined) return null
    return { epoch, cursor: Number(cursor), ...(changeId && { changeId }), ...(listing && { listing }) }
  }

  /** Whether `remote` is a whole listing of the node, and all that changed since is in `dirtyRemote`. */
  get isListed(): boolean {
    return this.setting('listed') === 'yes'
  }

  setCommon(path: string, common: Common | null): void {
    const files = (common?.type === 'file' ? 1 : 0) - (this.common.get(path)?.type === 'file' ? 1 : 0)
    if (common === null) this.common.delete(path)
    else this.common.set(path, { ...common, generation: this.#generation })
    this.#files += files
    if (this.unconfirmed.has(path)) this.#setUnconfirmed(path, 'recorded')
  }

  /**
   * Whether only the content of the common state of a path still counts: the node was reset, or it has something else there than this
   * device has asked for, or knew before the connection was lost. If the path is on the disk, its person wants it.
   */
  isStale(path: string, common: CommonRecord): boolean {
    if (common.generation !== this.#generation) return true
    const unconfirmed = this.unconfirmed.get(path)
    if (unconfirmed !== 'asked' && unconfirmed !== 'doubted') return false
    return !isOutcome(this.remote.get(path) ?? null, common)
  }

  /** Records, before the node is asked for a change at a path, that it may happen. */
  expectChange(path: string): void {
    this.#setUnconfirmed(path, 'asked')
    this.asks += 1
    this.#asked.set(path, this.asks)
  }

  /** Scans again at a path whose change did not happen, or will not happen any more. */
  endChange(path: string): void {
    if (this.unconfirmed.get(path) !== 'asked') return
    this.transaction(() => {
      this.#setUnconfirmed(path, 'doubted')
      this.markDirty(path)
    })
  }

  /** The paths of changes that were asked for up to a number, or by a former process, and have no answer. */
  askedUntil(asks: number): string[] {
    const isAsked = ([path, state]: [string, Unconfirmed]) =>
      state === 'asked' && (this.#asked.get(path) ?? 0) <= asks
    return [...this.unconfirmed].filter(isAsked).map(([path]) => path)
  }

  /** Records that the common state of a path is what the node has answered. */
  noteAnswer(path: string): void {
    this.#setUnconfirmed(path, 'recorded')
  }

  /** Records that a scan has found something at a path that the journal has not reported yet. */
  noteSeen(path: string): void {
    if (!this.unconfirmed.has(path)) this.#setUnconfirmed(path, 'seen')
  }

  /**
   * Scans again the paths that the journal has not reported: the node may have been put back to an older state since the connection was
   * lost. Its welcome says whether it knows the position of the device, and nothing about these paths.
   */
  doubtUnconfirmed(): void {
    this.transaction(() => {
      for (const [path, state] of this.unconfirmed) {
        if (state === 'recorded') this.#setUnconfirmed(path, 'doubted')
        this.markDirty(path)
      }
    })
  }

  /** Takes the outcome of a path from the journal, or from a scan that found nothing new. If the device knows it, it is confirmed. */
  confirm(path: string, outcome: Outcome): void {
    if (this.#isKnown(path, outcome)) this.#confirm(path)
  }

  /** Takes a scan that found nothing new while the journal is held back. The journal still has to report the path. */
  trust(path: string, outcome: Outcome): void {
    if (this.unconfirmed.get(path) === 'doubted' && this.#isKnown(path, outcome))
      this.#setUnconfirmed(path, 'recorded')
  }

  setRemote(path: string, entry: RemoteRecord | null): void {
    if (entry === null) this.remote.delete(path)
    else this.remote.set(path, entry)
    if (this.remote.size > mostEntries || this.remote.pathBytes > mostPathBytes) throw tooManyEntries()
  }

  /** Records that a local file and a file of the node have the same content. Its former offers are then over. */
  setSame(path: string, sha256: string, remote: RemoteFileEntry, local: LocalFileEntry | null): void {
    this.transaction(() => {
      // The node may have something else by now.
      const now = this.remote.get(path)
      if (now?.type === 'file' && now.revision === remote.revision) this.setRemote(path, { ...now, sha256 })
      this.setCommon(path, {
        type: 'file',
        sha256,
        revision: remote.revision,
        identity: local?.identity ?? '',
        moveIdentity: local?.moveIdentity ?? '',
      })
      this.endUnansweredUploads(path)
    })
  }

  /** Records that both sides have, or had at one time, a folder. */
  setSameFolder(path: string): void {
    const common = this.common.get(path)
    if (common?.type !== 'directory' || this.isStale(path, common))
      this.setCommon(path, { type: 'directory' })
  }

  /** Records, before it is sent, what may become the content of a path on the node. */
  addUnansweredUpload(path: string, sha256: string): void {
    if (this.unansweredUploads.get(path)?.has(sha256)) return
    this.#database.run('INSERT INTO offers VALUES (?, ?)', path, sha256)
    this.#keepUnansweredUpload(path, sha256)
  }

  endUnansweredUploads(path: string): void {
    if (!this.unansweredUploads.has(path)) return
    this.#database.run('DELETE FROM offers WHERE path = ?', path)
    this.unansweredUploads.delete(path)
  }

  /** A path of the common state with a revision. It is not a stale one. */
  pathOfRevision(revision: string): string | undefined {
    return this.#pathWith('revision', revision)
  }

  /** A path of the common state whose local file has an identity that moves keep. It is not a stale one. */
  pathOfMove(moveIdentity: string): string | undefined {
    return this.#pathWith('moveIdentity', moveIdentity)
  }

  /** Records that changes up to a cursor are known. */
  advance({ cursor, changeId = '' }: Pick<Position, 'cursor' | 'changeId'>): void {
    this.transaction(() => {
      this.set('cursor', String(cursor))
      this.set('changeId', changeId)
    })
  }

  /** @param told the outcome of the path in the journal; `undefined` if it is not the reason for the scan */
  markDirty(path: string, told?: Told): void {
    if (!this.dirtyRemote.has(path)) this.#database.run('INSERT INTO looks VALUES (?)', path)
    this.dirtyRemote.set(path, told === undefined ? this.dirtyRemote.get(path) : told)
  }

  markClean(path: string): void {
    if (!this.dirtyRemote.has(path)) return
    this.#database.run('DELETE FROM looks WHERE path = ?', path)
    this.dirtyRemote.delete(path)
  }

  /** Forgets the common history with the node: nothing counts as deleted there or here before both sides have been compared. */
  reset({ epoch, cursor, changeId = '', listing = '' }: Position): void {
    this.transaction(() => {
      this.#forgetNode()
      this.set('epoch', epoch)
      this.set('cursor', String(cursor))
      this.set('changeId', changeId)
      this.set('listing', listing)
    })
  }

  /** Starts as another device of the node. It may be one of another user, with other files. */
  beginDevice(device: string): void {
    this.transaction(() => {
      this.#forgetNode()
      this.set('device', device)
      for (const name of ['epoch', 'cursor', 'changeId', 'listing']) {
        this.#database.run('DELETE FROM settings WHERE name = ?', name)
        this.#settings.delete(name)
      }
    })
  }

  /** Replaces all that is known of the node by a listing. */
  setListing(listing: ReadonlyMap<string, RemoteEntry>): void {
    this.transaction(() => {
      this.remote.clear()
      for (const [path, entry] of listing) this.setRemote(path, entry)
      this.set('listed', 'yes')
    })
  }

  /** Does several changes in one transaction: all of them, or none, as on a full disk. */
  transaction(work: () => void): void {
    if (this.#isInTransaction) {
      work()
      return
    }
    this.#isInTransaction = true
    try {
      this.#database.run('BEGIN IMMEDIATE')
      work()
      this.#database.run('COMMIT')
    } catch (error) {
      this.#database.rollBack()
      this.#load()
      throw error
    } finally {
      this.#isInTransaction = false
    }
  }

  close(): void {
    this.#database.close()
  }

  get #generation(): number {
    return Number(this.setting('generation') ?? 0)
  }

  #pathWith(key: 'revision' | 'moveIdentity', value: string): string | undefined {
    const query = `SELECT path FROM common WHERE record ->> '${key}' = ? AND record ->> 'generation' = ? LIMIT 1`
    return this.#database.row(query, value, this.#generation)?.path?.toString()
  }

  #forgetNode(): void {
    this.set('generation', String(this.#generation + 1))
    this.set('listed', 'no')
    this.#database.run('DELETE FROM looks')
    this.dirtyRemote.clear()
    this.#database.run('DELETE FROM unconfirmed')
    this.unconfirmed.clear()
  }

  #isKnown(path: string, outcome: Outcome): boolean {
    const unconfirmed = this.unconfirmed.get(path)
    if (unconfirmed === undefined || unconfirmed === 'asked') return false
    const known = unconfirmed === 'seen' ? this.remote.get(path) : this.common.get(path)
    return isOutcome(outcome, known ?? null)
  }

  #setUnconfirmed(path: string, state: Unconfirmed): void {
    if (state !== 'asked') this.#asked.delete(path)
    if (this.unconfirmed.get(path) === state) return
    this.#database.run('INSERT OR REPLACE INTO unconfirmed VALUES (?, ?)', path, state)
    this.unconfirmed.set(path, state)
  }

  #confirm(path: string): void {
    this.#asked.delete(path)
    if (!this.unconfirmed.has(path)) return
    this.#database.run('DELETE FROM unconfirmed WHERE path = ?', path)
    this.unconfirmed.delete(path)
  }

  #load(): void {
    this.common.count()
    this.remote.count()
    const files = this.#database.row(`SELECT count(*) AS files FROM common WHERE record ->> 'type' = 'file'`)
    this.#files = Number(files?.files)
    const { dirtyRemote, unansweredUploads, unconfirmed } = this
    for (const kept of [dirtyRemote, unansweredUploads, unconfirmed, this.#settings]) kept.clear()
    for (const { path } of this.#database.rows('SELECT path FROM looks'))
      dirtyRemote.set(String(path), 'tree')
    for (const { path, sha256 } of this.#database.rows('SELECT path, sha256 FROM offers')) {
      this.#keepUnansweredUpload(String(path), String(sha256))
    }
    for (const { path, state } of this.#database.rows('SELECT path, state FROM unconfirmed')) {
      unconfirmed.set(String(path), state as Unconfirmed)
    }
    for (const { name, value } of this.#database.rows('SELECT name, value FROM settings')) {
      this.#settings.set(String(name), String(value))
    }
  }

  #keepUnansweredUpload(path: string, sha256: string): void {
    this.unansweredUploads.set(path, new Set([...(this.unansweredUploads.get(path) ?? []), sha256]))
  }
}

/** Whether two outcomes are the same. */
export function isOutcome(one: Outcome, other: Outcome): boolean {
  if (one === null || other === null) return one === other
  if (one.type === 'file' && other.type === 'file') return one.revision === other.revision
  return one.type === other.type
}
