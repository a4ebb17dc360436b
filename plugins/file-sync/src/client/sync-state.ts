import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PathTree } from './path-tree.ts'
import type { LocalFileEntry, RemoteEntry, RemoteFileEntry } from './ports.ts'

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

/** Where the device stands in the journal of the node. */
interface Position {
  readonly epoch: string
  readonly cursor: number
}

/**
 * What the device knows for good: the common states, the files of the node as they were seen last, and the changes that it must
 * still look at. It is a database, and all of it is in memory too. After a crash, the newest records may be missing. That is
 * safe: the device then compares the contents.
 */
export class SyncState {
  readonly common = new PathTree<Common>()
  readonly remote = new PathTree<RemoteRecord>()
  /** Paths of the node that may have changed. */
  readonly looks = new Set<string>()
  /** SHA-256 of uploads whose outcome is not known, by path. */
  readonly offers = new Map<string, string>()
  /** Paths of files by the revision of their common state. */
  readonly #revisions = new Map<string, string>()
  /** Paths of files by the identity that their local files keep when they move. */
  readonly #moves = new Map<string, string>()
  readonly #settings = new Map<string, string>()
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

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
      CREATE TABLE IF NOT EXISTS offers (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      COMMIT;
    `)
    for (const { path, record } of this.#all('SELECT path, record FROM common')) {
      this.#keepCommon(String(path), JSON.parse(String(record)))
    }
    for (const { path, record } of this.#all('SELECT path, record FROM remote')) {
      this.remote.set(String(path), JSON.parse(String(record)))
    }
    for (const { path } of this.#all('SELECT path FROM looks')) this.looks.add(String(path))
    for (const { path, sha256 } of this.#all('SELECT path, sha256 FROM offers')) {
      this.offers.set(String(path), String(sha256))
    }
    for (const { name, value } of this.#all('SELECT name, value FROM settings')) {
      this.#settings.set(String(name), String(value))
    }
  }

  setting(name: string): string | undefined {
    return this.#settings.get(name)
  }

  set(name: string, value: string): void {
    this.#settings.set(name, value)
    this.#run('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value)
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
    this.#forgetCommon(path)
    if (common !== null) this.#keepCommon(path, common)
    if (common === null) this.#run('DELETE FROM common WHERE path = ?', path)
    else this.#run('INSERT OR REPLACE INTO common VALUES (?, ?)', path, JSON.stringify(common))
  }

  setRemote(path: string, entry: RemoteRecord | null): void {
    if (entry === null) {
      this.remote.delete(path)
      this.#run('DELETE FROM remote WHERE path = ?', path)
    } else {
      this.remote.set(path, entry)
      this.#run('INSERT OR REPLACE INTO remote VALUES (?, ?)', path, JSON.stringify(entry))
    }
  }

  /** Records that a local file and a file of the node have the same content. Its former offer is then settled. */
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
      this.setOffer(path, null)
    })
  }

  setOffer(path: string, sha256: string | null): void {
    if (sha256 === (this.offers.get(path) ?? null)) return
    if (sha256 === null) {
      this.offers.delete(path)
      this.#run('DELETE FROM offers WHERE path = ?', path)
    } else {
      this.offers.set(path, sha256)
      this.#run('INSERT OR REPLACE INTO offers VALUES (?, ?)', path, sha256)
    }
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
    this.looks.add(path)
    this.#run('INSERT OR IGNORE INTO looks VALUES (?)', path)
  }

  endLook(path: string): void {
    if (this.looks.delete(path)) this.#run('DELETE FROM looks WHERE path = ?', path)
  }

  /** Begins anew with the node: nothing counts as deleted there or here before both sides have been compared. */
  reset({ epoch, cursor }: Position): void {
    this.together(() => {
      for (const [path, common] of this.common.entries()) {
        if (!common.isStale) this.setCommon(path, { ...common, isStale: true })
      }
      this.set('listed', 'no')
      this.set('epoch', epoch)
      this.set('cursor', String(cursor))
      for (const path of [...this.looks]) this.endLook(path)
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

  /** Does several changes in one transaction. */
  together(work: () => void): void {
    const isOutermost = !this.#database.isTransaction
    if (isOutermost) this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      if (isOutermost) this.#database.exec('COMMIT')
    } catch (error) {
      if (isOutermost && this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }

  #keepCommon(path: string, common: Common): void {
    this.common.set(path, common)
    if (common.type === 'directory') return
    if (!common.isStale) this.#revisions.set(common.revision, path)
    if (common.moveIdentity !== '') this.#moves.set(common.moveIdentity, path)
  }

  #forgetCommon(path: string): void {
    const common = this.common.get(path)
    if (common?.type === 'file') {
      if (this.#revisions.get(common.revision) === path) this.#revisions.delete(common.revision)
      if (this.#moves.get(common.moveIdentity) === path) this.#moves.delete(common.moveIdentity)
    }
    this.common.delete(path)
  }

  #all(statement: string, ...values: string[]) {
    return this.#prepared(statement).all(...values)
  }

  #run(statement: string, ...values: string[]): void {
    this.#prepared(statement).run(...values)
  }

  #prepared(statement: string): StatementSync {
    const prepared = this.#statements.get(statement) ?? this.#database.prepare(statement)
    this.#statements.set(statement, prepared)
    return prepared
  }
}
