import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PathTree } from './path-tree.ts'
import type { LocalFileEntry, RemoteEntry, RemoteFileEntry } from './ports.ts'
import { SyncFailure } from './sync-failure.ts'

/** The last state that the device and the node had in common at a path. */
type Common =
  | { readonly type: 'directory'; readonly isStale: boolean }
  | {
      readonly type: 'file'
      readonly sha256: string
      readonly revision: string
      /** The identity that the local file has as long as nobody writes to it. Empty if the local file was another one. */
      readonly identity: string
      readonly moveIdentity: string
      readonly isStale: boolean
    }

/** An entry of the node, and the SHA-256 of a file once it is known. */
export type RemoteRecord = RemoteEntry & { readonly sha256?: string }

/**
 * The most files and folders of a node, and characters of their paths. Both sides are in memory, and a node that is hostile could
 * list them without end.
 */
export const mostEntries = 1_000_000
export const mostCharacters = 256 * 1024 ** 2

/** The failure for a node that lists more. */
export function tooManyEntries(): SyncFailure {
  return new SyncFailure(
    'stop',
    `The node lists more than ${mostEntries.toLocaleString('en')} files and folders, or too long paths. A client cannot sync more.`,
  )
}

/** Where the device stands in the journal of the node. */
interface Position {
  readonly epoch: string
  readonly cursor: number
}

/**
 * The knowledge of the device that survives a restart: the common states, the files of the node as they were seen last, and the changes that it must
 * still look at. It is a database, and all of it is in memory too. After a crash, the newest records may be missing. That is
 * safe: the device then compares the contents. Each change is in the database before it is in memory, so a full disk does not
 * part them. It then fails with SyncFailure `unavailable`.
 */
export class SyncState {
  readonly common = new PathTree<Common>()
  readonly remote = new PathTree<RemoteRecord>()
  /** Paths of the node that may have changed. */
  readonly looks = new Set<string>()
  /** SHA-256 of what was sent to a path of the node without a known outcome. An earlier one may still arrive. */
  readonly offers = new Map<string, ReadonlySet<string>>()
  /** Paths of files by the revision of their common state. */
  readonly #revisions = new Map<string, string>()
  /** Paths of files by the identity that their local files keep when they move. */
  readonly #moves = new Map<string, string>()
  readonly #settings = new Map<string, string>()
  #files = 0
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #isTogether = false

  /**
   * Opens or makes the database.
   *
   * @throws errors of SQLite; `ERR_SQLITE_ERROR` with `errcode` 5 if another process has the folder open
   */
  constructor(database: DatabaseSync) {
    this.#database = database
    // The lock holds until the connection closes, so a second client of the same folder is refused.
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS common (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS remote (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS looks (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS offers (path TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (path, sha256))
        STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      COMMIT;
    `)
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
    this.#run('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value)
    this.#settings.set(name, value)
  }

  get position(): Position | null {
    const [epoch, cursor] = [this.setting('epoch'), this.setting('cursor')]
    return epoch === undefined || cursor === undefined ? null : { epoch, cursor: Number(cursor) }
  }

  /** Whether `remote` is a whole listing of the node, and all that changed since is in `looks`. */
  get isListed(): boolean {
    return this.setting('listed') === 'yes'
  }

  setCommon(path: string, common: Common | null): void {
    if (common === null) this.#run('DELETE FROM common WHERE path = ?', path)
    else this.#run('INSERT OR REPLACE INTO common VALUES (?, ?)', path, JSON.stringify(common))
    this.#forgetCommon(path)
    if (common !== null) this.#keepCommon(path, common)
  }

  setRemote(path: string, entry: RemoteRecord | null): void {
    if (entry === null) {
      this.#run('DELETE FROM remote WHERE path = ?', path)
      this.remote.delete(path)
    } else {
      const { size, characters } = this.remote
      if (size >= mostEntries || characters > mostCharacters) throw tooManyEntries()
      this.#run('INSERT OR REPLACE INTO remote VALUES (?, ?)', path, JSON.stringify(entry))
      this.remote.set(path, entry)
    }
  }

  /** Records that a local file and a file of the node have the same content. Its former offers are then over. */
  setSame(path: string, sha256: string, remote: RemoteFileEntry, local: LocalFileEntry | null): void {
    this.together(() => {
      // The node may have something else by now.
      const now = this.remote.get(path)
      if (now?.type === 'file' && now.revision === remote.revision) this.setRemote(path, { ...now, sha256 })
      this.setCommon(path, {
        type: 'file',
        sha256,
        revision: remote.revision,
        identity: local?.identity ?? '',
        moveIdentity: local?.moveIdentity ?? '',
        isStale: false,
      })
      this.endOffers(path)
    })
  }

  /** Records that both sides have, or had at one time, a folder. */
  setSameFolder(path: string): void {
    const common = this.common.get(path)
    if (common?.type !== 'directory' || common.isStale)
      this.setCommon(path, { type: 'directory', isStale: false })
  }

  /** Records, before it is sent, what may become the content of a path on the node. */
  addOffer(path: string, sha256: string): void {
    if (this.offers.get(path)?.has(sha256)) return
    this.#run('INSERT INTO offers VALUES (?, ?)', path, sha256)
    this.#keepOffer(path, sha256)
  }

  endOffers(path: string): void {
    if (!this.offers.has(path)) return
    this.#run('DELETE FROM offers WHERE path = ?', path)
    this.offers.delete(path)
  }

  /** The path of the common state with a revision. */
  pathOfRevision(revision: string): string | undefined {
    return this.#revisions.get(revision)
  }

  /** The path of the common state whose local file has an identity that moves keep. */
  pathOfMove(moveIdentity: string): string | undefined {
    return this.#moves.get(moveIdentity)
  }

  /** Records that changes up to a cursor are known, and which paths they name. */
  advance(cursor: number, paths: Iterable<string>): void {
    this.together(() => {
      for (const path of paths) this.addLook(path)
      this.set('cursor', String(cursor))
    })
  }

  addLook(path: string): void {
    if (this.looks.has(path)) return
    this.#run('INSERT INTO looks VALUES (?)', path)
    this.looks.add(path)
  }

  endLook(path: string): void {
    if (!this.looks.has(path)) return
    this.#run('DELETE FROM looks WHERE path = ?', path)
    this.looks.delete(path)
  }

  /** Begins anew with the node: nothing counts as deleted there or here before both sides have been compared. */
  reset({ epoch, cursor }: Position): void {
    this.together(() => {
      this.#forgetNode()
      this.set('epoch', epoch)
      this.set('cursor', String(cursor))
    })
  }

  /** Begins anew as another device of the node. It may be one of another user, with other files. */
  beginDevice(device: string): void {
    this.together(() => {
      this.#forgetNode()
      this.set('device', device)
      for (const name of ['epoch', 'cursor']) {
        this.#run('DELETE FROM settings WHERE name = ?', name)
        this.#settings.delete(name)
      }
    })
  }

  /** Replaces all that is known of the node by a listing. */
  setListing(listing: ReadonlyMap<string, RemoteEntry>): void {
    this.together(() => {
      this.#run('DELETE FROM remote')
      this.remote.clear()
      for (const [path, entry] of listing) this.setRemote(path, entry)
      this.set('listed', 'yes')
    })
  }

  /** Does several changes in one transaction: all of them, or none, as on a full disk. */
  together(work: () => void): void {
    if (this.#isTogether) {
      work()
      return
    }
    this.#isTogether = true
    try {
      this.#run('BEGIN IMMEDIATE')
      work()
      this.#run('COMMIT')
    } catch (error) {
      // A full disk may have ended the transaction already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#load()
      throw error
    } finally {
      this.#isTogether = false
    }
  }

  close(): void {
    this.#database.close()
  }

  #forgetNode(): void {
    for (const [path, common] of this.common.entries()) {
      if (!common.isStale) this.setCommon(path, { ...common, isStale: true })
    }
    this.set('listed', 'no')
    for (const path of [...this.looks]) this.endLook(path)
  }

  #load(): void {
    const { common, remote, looks, offers } = this
    for (const kept of [common, remote, looks, offers, this.#revisions, this.#moves, this.#settings])
      kept.clear()
    this.#files = 0
    for (const { path, record } of this.#rows('SELECT path, record FROM common')) {
      this.#keepCommon(String(path), JSON.parse(String(record)))
    }
    for (const { path, record } of this.#rows('SELECT path, record FROM remote')) {
      this.remote.set(String(path), JSON.parse(String(record)))
    }
    for (const { path } of this.#rows('SELECT path FROM looks')) this.looks.add(String(path))
    for (const { path, sha256 } of this.#rows('SELECT path, sha256 FROM offers')) {
      this.#keepOffer(String(path), String(sha256))
    }
    for (const { name, value } of this.#rows('SELECT name, value FROM settings')) {
      this.#settings.set(String(name), String(value))
    }
  }

  #keepOffer(path: string, sha256: string): void {
    this.offers.set(path, new Set([...(this.offers.get(path) ?? []), sha256]))
  }

  #keepCommon(path: string, common: Common): void {
    this.common.set(path, common)
    if (common.type === 'directory') return
    this.#files += 1
    if (!common.isStale) this.#revisions.set(common.revision, path)
    if (common.moveIdentity !== '') this.#moves.set(common.moveIdentity, path)
  }

  #forgetCommon(path: string): void {
    const common = this.common.get(path)
    if (common?.type === 'file') {
      this.#files -= 1
      if (this.#revisions.get(common.revision) === path) this.#revisions.delete(common.revision)
      if (this.#moves.get(common.moveIdentity) === path) this.#moves.delete(common.moveIdentity)
    }
    this.common.delete(path)
  }

  #rows(statement: string) {
    return this.#prepared(statement).iterate()
  }

  #run(statement: string, ...values: string[]): void {
    try {
      this.#prepared(statement).run(...values)
    } catch (error) {
      throw storageFailure(error) ?? error
    }
  }

  #prepared(statement: string): StatementSync {
    const prepared = this.#statements.get(statement) ?? this.#database.prepare(statement)
    this.#statements.set(statement, prepared)
    return prepared
  }
}

/** Messages for results of SQLite that say nothing about the database itself: https://www.sqlite.org/rescode.html */
const storageFailures: Readonly<Record<number, string>> = {
  8: 'The disk is read-only',
  10: 'The disk has an error',
  13: 'The disk is full',
  14: 'The disk is read-only or full',
}

/** The failure to report if a disk does not take what SQLite writes. `null` for other errors. */
export function storageFailure(error: unknown): SyncFailure | null {
  // Extended codes carry the primary one in their lowest byte.
  const what = storageFailures[((error as { errcode?: number }).errcode ?? 0) % 256]
  return what === undefined
    ? null
    : new SyncFailure('unavailable', `${what}, so the state of the folder cannot be stored.`, {
        cause: error,
      })
}
