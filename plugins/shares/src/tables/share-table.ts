import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'
import type { Share, ShareKind } from '../share.ts'
import { openDatabase } from './open-database.ts'

/** `token` is the SHA-256 of the secret. Times are milliseconds since 1970. The other columns are the fields of a {@link Share}. */
const tables = `
  CREATE TABLE shares (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    token BLOB NOT NULL UNIQUE,
    entry TEXT,
    path TEXT NOT NULL,
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0,
    salt BLOB,
    password BLOB,
    keep_metadata INTEGER NOT NULL,
    ask_sender INTEGER NOT NULL,
    max_bytes INTEGER,
    max_files INTEGER,
    dropped_files INTEGER NOT NULL DEFAULT 0,
    dropped_bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX shares_of_user ON shares (user);
  CREATE INDEX shares_expire ON shares (expires);
`

/** `counted_uploads` has the uploads that are counted, and of which it is not recorded elsewhere yet that they have ended. */
const countedUploads = 'CREATE TABLE counted_uploads (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;'

/** Fields that can change. */
export type ShareChange = Partial<
  Pick<
    Share,
    | 'kind'
    | 'expires'
    | 'keepMetadata'
    | 'askSender'
    | 'maxBytes'
    | 'maxFiles'
    | 'password'
    | 'entry'
    | 'path'
    | 'isClosed'
  >
>

/** The links of all users. */
export class ShareTable {
  readonly #database: DatabaseSync
  readonly #byToken: StatementSync
  readonly #byId: StatementSync
  readonly #anyOfUser: StatementSync

  constructor(file: string) {
    this.#database = openDatabase(file, [tables, countedUploads])
    this.#byToken = this.#database.prepare('SELECT * FROM shares WHERE token = ?')
    this.#byId = this.#database.prepare('SELECT * FROM shares WHERE id = ?')
    this.#anyOfUser = this.#database.prepare('SELECT 1 FROM shares WHERE user = ? LIMIT 1')
  }

  close(): void {
    this.#database.close()
  }

  /** @param token the hash of the secret */
  add(share: Share, token: Uint8Array): void {
    const row = {
      id: share.id,
      user: share.userUuid,
      token,
      type: share.type,
      created: share.created.getTime(),
      ...columnsOf(share),
    }
    const names = Object.keys(row)
    const values = names.map((name) => `:${name}`)
    this.#database.prepare(`INSERT INTO shares (${names}) VALUES (${values})`).run(row)
  }

  /** @param token the hash of the secret */
  byToken(token: Uint8Array): Share | null {
    return firstOf(this.#byToken, token)
  }

  get(id: string): Share | null {
    return firstOf(this.#byId, id)
  }

  /** Whether a user has links. It is asked for each change of a file. */
  hasAny(userUuid: string): boolean {
    return this.#anyOfUser.get(userUuid) !== undefined
  }

  /** The users who have links. */
  users(): string[] {
    return this.#database
      .prepare('SELECT DISTINCT user FROM shares')
      .all()
      .map(({ user }) => String(user))
  }

  /** The links of a user, the newest first. */
  ofUser(userUuid: string): Share[] {
    return this.#all('SELECT * FROM shares WHERE user = ? ORDER BY created DESC, rowid DESC', userUuid)
  }

  /** The links of all users, the newest first. */
  all(): Share[] {
    return this.#all('SELECT * FROM shares ORDER BY created DESC, rowid DESC')
  }

  count(userUuid: string): number {
    return Number(
      this.#database.prepare('SELECT count(*) AS links FROM shares WHERE user = ?').get(userUuid)?.links,
    )
  }

  /** @param token the hash of a new secret, in place of the former one */
  change(id: string, change: ShareChange, token?: Uint8Array): void {
    const columns = { ...columnsOf(change), ...(token !== undefined && { token }) }
    const names = Object.keys(columns)
    if (names.length === 0) return
    const set = names.map((name) => `${name} = :${name}`).join(', ')
    this.#database.prepare(`UPDATE shares SET ${set} WHERE id = :id`).run({ ...columns, id })
  }

  /** Counts a file that a guest has uploaded by a link. An upload counts once until it is forgotten, however often it is counted. */
  countDrop(id: string, upload: string, bytes: number): void {
    inTransaction(this.#database, () => {
      const { changes } = this.#database
        .prepare('INSERT OR IGNORE INTO counted_uploads VALUES (?)')
        .run(upload)
      if (Number(changes) === 0) return
      this.#database
        .prepare(
          'UPDATE shares SET dropped_files = dropped_files + 1, dropped_bytes = dropped_bytes + ? WHERE id = ?',
        )
        .run(bytes, id)
    })
  }

  /** Forgets an upload that was counted, and that nothing counts again. */
  forgetCounted(upload: string): void {
    this.#database.prepare('DELETE FROM counted_uploads WHERE id = ?').run(upload)
  }

  /** Forgets the uploads that were counted, but for some. */
  forgetCountedBut(uploads: readonly string[]): void {
    this.#database
      .prepare('DELETE FROM counted_uploads WHERE id NOT IN (SELECT value FROM json_each(?))')
      .run(JSON.stringify(uploads))
  }

  /** Forgets the entries of all links: after a restore, they have other ids. Each link finds its entry by the path. */
  forgetEntries(): void {
    this.#database.exec('UPDATE shares SET entry = NULL')
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM shares WHERE id = ?').run(id)
  }

  /** Removes the links that ended before a time, and returns their ids. */
  removeExpired(before: Date): string[] {
    return this.#removed('expires < ?', before.getTime())
  }

  /** Removes the links of a user, and returns their ids. */
  erase(userUuid: string): string[] {
    return this.#removed('user = ?', userUuid)
  }

  #removed(condition: string, value: SQLInputValue): string[] {
    return inTransaction(this.#database, () =>
      this.#database
        .prepare(`DELETE FROM shares WHERE ${condition} RETURNING id`)
        .all(value)
        .map(({ id }) => String(id)),
    )
  }

  #all(select: string, ...values: readonly SQLInputValue[]): Share[] {
    return this.#database
      .prepare(select)
      .all(...values)
      .map(shareOf)
  }
}

function firstOf(select: StatementSync, value: SQLInputValue): Share | null {
  const row = select.get(value)
  return row === undefined ? null : shareOf(row)
}

function columnsOf(change: ShareChange): Record<string, SQLInputValue> {
  const { kind, expires, keepMetadata, askSender, maxBytes, maxFiles, password, entry, path, isClosed } =
    change
  return {
    ...(kind !== undefined && { kind }),
    ...(expires !== undefined && { expires: expires.getTime() }),
    ...(keepMetadata !== undefined && { keep_metadata: Number(keepMetadata) }),
    ...(askSender !== undefined && { ask_sender: Number(askSender) }),
    ...(maxBytes !== undefined && { max_bytes: maxBytes }),
    ...(maxFiles !== undefined && { max_files: maxFiles }),
    ...(password !== undefined && { salt: password?.salt ?? null, password: password?.hash ?? null }),
    ...(entry !== undefined && { entry }),
    ...(path !== undefined && { path }),
    ...(isClosed !== undefined && { closed: Number(isClosed) }),
  }
}

function shareOf(row: Record<string, SQLOutputValue>): Share {
  const { salt, password: hash } = row
  return {
    id: String(row.id),
    userUuid: String(row.user),
    entry: row.entry === null ? null : String(row.entry),
    path: String(row.path),
    type: row.type === 'file' ? 'file' : 'directory',
    kind: row.kind as ShareKind,
    created: new Date(Number(row.created)),
    expires: new Date(Number(row.expires)),
    isClosed: row.closed === 1,
    password: salt instanceof Uint8Array && hash instanceof Uint8Array ? { salt, hash } : null,
    keepMetadata: row.keep_metadata === 1,
    askSender: row.ask_sender === 1,
    maxBytes: row.max_bytes === null ? null : Number(row.max_bytes),
    maxFiles: row.max_files === null ? null : Number(row.max_files),
    droppedFiles: Number(row.dropped_files),
    droppedBytes: Number(row.dropped_bytes),
  }
}
