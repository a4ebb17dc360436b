import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { inTransaction, NodekeepError } from '@nodekeep/plugin-sdk'

const schemaVersion = 1

/**
 * `upload_length` is null as long as the client has not told it. `received` counts the bytes that are on the disk. `metadata` is the JSON
 * of what the client sent. `if_revision` and `if_absent` are the conditions. `began_end` is 1 once the file may have been written, and
 * `revision` is that of the written file. Times are milliseconds since 1970.
 */
const tables = `
  CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    upload_length INTEGER,
    received INTEGER NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL,
    modified INTEGER,
    if_revision TEXT,
    if_absent INTEGER NOT NULL,
    began_end INTEGER NOT NULL DEFAULT 0,
    revision TEXT,
    used INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX uploads_of_user ON uploads (user, used);
`

/** Milliseconds for which an upload is kept that nobody goes on with. */
export const keepMs = 7 * 24 * 60 * 60 * 1000

/** Finished uploads of a user that are remembered, for clients that have lost the last answer. */
const mostFinished = 64

/** An upload as its client begins it. */
export interface NewUpload {
  readonly id: string
  readonly path: string
  /** Bytes; null as long as they are not known. */
  readonly length: number | null
  readonly metadata: Readonly<Record<string, string | null>>
  readonly modified: Date | null
  /** The revision of the file to replace. */
  readonly ifRevision: string | null
  /** Whether nothing may be at the path. */
  readonly ifAbsent: boolean
}

/** An upload, finished or not. */
export interface Upload extends NewUpload {
  /** Bytes that are on the disk. */
  readonly received: number
  /** Whether the file may have been written already. */
  readonly beganEnd: boolean
  /** The revision of the written file; null as long as it is not written. */
  readonly revision: string | null
  /** When a client used it last. */
  readonly used: Date
}

/** Opens the database of uploads, or makes it. */
export function openUploadDatabase(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000 })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    if (Number(connection.prepare('PRAGMA user_version').get()?.user_version) === schemaVersion)
      return connection
    inTransaction(connection, () =>
      connection.exec(`DROP TABLE IF EXISTS uploads; ${tables} PRAGMA user_version = ${schemaVersion};`),
    )
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** The uploads of all users. They survive a restart. Each method acts on uploads of one user only. */
export class Uploads {
  readonly #connection: DatabaseSync
  readonly #mostUnfinished: number

  constructor(connection: DatabaseSync, mostUnfinished: number) {
    this.#connection = connection
    this.#mostUnfinished = mostUnfinished
  }

  /**
   * Records an upload. Above the limit, the upload is forgotten that was unused for longest.
   *
   * @param isInUse tells which uploads may not be forgotten
   * @returns the ids of the forgotten uploads
   * @throws NodekeepError TOO_MANY_REQUESTS if all are in use
   */
  create(userUuid: string, upload: NewUpload, isInUse: (id: string) => boolean): readonly string[] {
    const { id, path, length, metadata, modified, ifRevision, ifAbsent } = upload
    return inTransaction(this.#connection, () => {
      const unfinished = this.#connection
        .prepare('SELECT id FROM uploads WHERE user = ? AND revision IS NULL ORDER BY used, rowid')
        .all(userUuid)
        .map((row) => String(row.id))
      const surplus = unfinished.length + 1 - this.#mostUnfinished
      const forgotten = unfinished.filter((other) => !isInUse(other)).slice(0, Math.max(surplus, 0))
      if (forgotten.length < surplus) throw tooMany(this.#mostUnfinished)
      for (const other of forgotten) this.remove(userUuid, other)
      this.#connection
        .prepare(
          `INSERT INTO uploads (id, user, path, upload_length, metadata, modified, if_revision, if_absent, used)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          id,
          userUuid,
          path,
          length,
          JSON.stringify(metadata),
          modified?.getTime() ?? null,
          ifRevision,
          Number(ifAbsent),
          Date.now(),
        )
      return forgotten
    })
  }

  /** @throws NodekeepError NOT_FOUND */
  get(userUuid: string, id: string): Upload {
    const row = this.#connection.prepare('SELECT * FROM uploads WHERE id = ? AND user = ?').get(id, userUuid)
    if (row === undefined) throw noSuchUpload()
    return uploadOf(row)
  }

  /** The unfinished uploads of a user, those first that were unused for longest. */
  unfinished(userUuid: string): readonly Upload[] {
    return this.#connection
      .prepare('SELECT * FROM uploads WHERE user = ? AND revision IS NULL ORDER BY used, rowid')
      .all(userUuid)
      .map(uploadOf)
  }

  /** The unfinished uploads of all users. */
  *allUnfinished(): Generator<{ readonly userUuid: string; readonly id: string; readonly received: number }> {
    const rows = this.#connection
      .prepare('SELECT user, id, received FROM uploads WHERE revision IS NULL')
      .all()
    for (const { user, id, received } of rows)
      yield { userUuid: String(user), id: String(id), received: Number(received) }
  }

  /** Records that a client uses an upload. */
  use(userUuid: string, id: string): void {
    this.#connection
      .prepare('UPDATE uploads SET used = ? WHERE id = ? AND user = ?')
      .run(Date.now(), id, userUuid)
  }

  setLength(userUuid: string, id: string, length: number): void {
    this.#connection
      .prepare('UPDATE uploads SET upload_length = ? WHERE id = ? AND user = ? AND upload_length IS NULL')
      .run(length, id, userUuid)
  }

  /** Records how many bytes are on the disk. */
  setReceived(userUuid: string, id: string, received: number): void {
    this.#connection
      .prepare('UPDATE uploads SET received = ?, used = ? WHERE id = ? AND user = ? AND revision IS NULL')
      .run(received, Date.now(), id, userUuid)
  }

  /** Records that the file is being written. */
  beginEnd(userUuid: string, id: string): void {
    this.#connection.prepare('UPDATE uploads SET began_end = 1 WHERE id = ? AND user = ?').run(id, userUuid)
  }

  /** Records that the file is written. */
  finish(userUuid: string, id: string, { path, revision }: { path: string; revision: string }): void {
    inTransaction(this.#connection, () => {
      this.#connection
        .prepare(
          `UPDATE uploads SET received = upload_length, path = ?, revision = ?, used = ?
           WHERE id = ? AND user = ?`,
        )
        .run(path, revision, Date.now(), id, userUuid)
      this.#connection
        .prepare(
          `DELETE FROM uploads WHERE user = :user AND revision IS NOT NULL AND id NOT IN (
             SELECT id FROM uploads WHERE user = :user AND revision IS NOT NULL
             ORDER BY used DESC, rowid DESC LIMIT ${mostFinished})`,
        )
        .run({ user: userUuid })
    })
  }

  remove(userUuid: string, id: string): void {
    this.#connection.prepare('DELETE FROM uploads WHERE id = ? AND user = ?').run(id, userUuid)
  }

  /** Forgets the uploads that nobody has used for long. */
  expire(isInUse: (userUuid: string, id: string) => boolean): void {
    const rows = this.#connection
      .prepare('SELECT id, user FROM uploads WHERE used < ?')
      .all(Date.now() - keepMs)
    for (const { id, user } of rows)
      if (!isInUse(String(user), String(id))) this.remove(String(user), String(id))
  }

  /** Whether there is an unfinished upload. */
  isUnfinished(userUuid: string, id: string): boolean {
    const row = this.#connection
      .prepare('SELECT 1 FROM uploads WHERE id = ? AND user = ? AND revision IS NULL')
      .get(id, userUuid)
    return row !== undefined
  }

  erase(userUuid: string): void {
    this.#connection.prepare('DELETE FROM uploads WHERE user = ?').run(userUuid)
  }
}

/** Returns the id of a new upload. It names a file, too. */
export function newId(): string {
  return randomUUID().replaceAll('-', '')
}

export function noSuchUpload(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such upload. It may have expired. Begin it again.')
}

function tooMany(most: number): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `${most} uploads of yours are receiving bytes (uploads.uploadsPerUser). Begin another one when one of them has ended.`,
    { headers: { 'retry-after': '10' } },
  )
}

function uploadOf(row: Record<string, unknown>): Upload {
  return {
    id: String(row.id),
    path: String(row.path),
    length: row.upload_length === null ? null : Number(row.upload_length),
    metadata: JSON.parse(String(row.metadata)),
    modified: row.modified === null ? null : new Date(Number(row.modified)),
    ifRevision: row.if_revision === null ? null : String(row.if_revision),
    ifAbsent: row.if_absent === 1,
    received: Number(row.received),
    beganEnd: row.began_end === 1,
    revision: row.revision === null ? null : String(row.revision),
    used: new Date(Number(row.used)),
  }
}
