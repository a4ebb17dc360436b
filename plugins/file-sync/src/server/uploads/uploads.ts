import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { inTransaction, NodekeepError } from '@nodekeep/plugin-sdk'
import type { NewUpload } from '../../protocol/bodies.ts'
import { packBlocks, unpackBlocks } from './packed-blocks.ts'

/** Milliseconds after which an upload is forgotten that nobody has used. */
const keepMs = 7 * 24 * 60 * 60 * 1000

/** Uploads of a user at a time. */
const mostUploads = 64

/** A file that a client is about to send. */
export interface Upload {
  readonly id: string
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly modified: Date | null
  /** The revision of the file to replace; null if nothing may be at the path. */
  readonly ifRevision: string | null
  /** As `packBlocks` writes them. */
  readonly packed: Buffer
  readonly expires: Date
}

/** The uploads of all users. They survive a restart. */
export class Uploads {
  readonly #connection: DatabaseSync

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  /**
   * Records an upload. If the user began to upload the same content to the same path before, that upload goes on, with the new
   * condition and time. Above the limit, the upload is forgotten that was unused for longest.
   */
  create(userUuid: string, { path, size, sha256, blocks, modified, ifRevision }: NewUpload): Upload {
    const hash = Buffer.from(sha256, 'hex')
    const time = modified === undefined ? null : Date.parse(modified)
    const id = inTransaction(this.#connection, () => {
      const found = this.#connection
        .prepare('SELECT id FROM uploads WHERE user = ? AND path = ? AND sha256 = ?')
        .get(userUuid, path, hash)
      const id = String(found?.id ?? randomUUID())
      this.#connection
        .prepare(
          `INSERT OR REPLACE INTO uploads (id, user, path, size, sha256, modified, if_revision, blocks, used)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(id, userUuid, path, size, hash, time, ifRevision ?? null, packBlocks(blocks), Date.now())
      this.#connection
        .prepare(
          `DELETE FROM uploads WHERE user = :user AND id <> :id AND id NOT IN (
             SELECT id FROM uploads WHERE user = :user AND id <> :id ORDER BY used DESC LIMIT ${mostUploads - 1})`,
        )
        .run({ user: userUuid, id })
      return id
    })
    return this.get(userUuid, id)
  }

  /**
   * Returns an upload, and records that it is in use.
   *
   * @throws NodekeepError NOT_FOUND
   */
  get(userUuid: string, id: string): Upload {
    const now = Date.now()
    this.#connection.prepare('UPDATE uploads SET used = ? WHERE id = ? AND user = ?').run(now, id, userUuid)
    const row = this.#connection.prepare('SELECT * FROM uploads WHERE id = ? AND user = ?').get(id, userUuid)
    if (row === undefined) {
      throw new NodekeepError('NOT_FOUND', 'There is no such upload. It may have expired. Begin it again.')
    }
    return {
      id,
      path: String(row.path),
      size: Number(row.size),
      sha256: Buffer.from(row.sha256 as Uint8Array).toString('hex'),
      modified: row.modified === null ? null : new Date(Number(row.modified)),
      ifRevision: row.if_revision === null ? null : String(row.if_revision),
      packed: Buffer.from(row.blocks as Uint8Array),
      expires: new Date(now + keepMs),
    }
  }

  remove(id: string): void {
    this.#connection.prepare('DELETE FROM uploads WHERE id = ?').run(id)
  }

  /**
   * Those of some hashes that no upload of a user names, also none that begins meanwhile. Reading all blocks of a user at once would
   * stop the node for seconds, so other work has its turn after each upload.
   */
  async unnamed(userUuid: string, hashes: Iterable<string>): Promise<ReadonlySet<string>> {
    const next = this.#connection.prepare(
      'SELECT rowid, blocks FROM uploads WHERE user = ? AND rowid > ? ORDER BY rowid LIMIT 1',
    )
    const left = new Set(hashes)
    for (let last = 0; left.size > 0; await setImmediate()) {
      const row = next.get(userUuid, last)
      if (row === undefined) break
      last = Number(row.rowid)
      for (const { sha256 } of unpackBlocks(Buffer.from(row.blocks as Uint8Array))) left.delete(sha256)
    }
    return left
  }

  /**
   * Forgets the uploads that nobody has used for long. One that was used in the future, by a clock that was ahead, stays until the user
   * begins too many others.
   */
  expire(): void {
    this.#connection.prepare('DELETE FROM uploads WHERE used < ?').run(Date.now() - keepMs)
  }

  erase(userUuid: string): void {
    this.#connection.prepare('DELETE FROM uploads WHERE user = ?').run(userUuid)
  }
}
