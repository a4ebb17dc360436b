import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type ChangePosition, inTransaction } from '@nodekeep/plugin-sdk'
import type { Block, Content } from '../../protocol/content-blocks.ts'

/** A file in one revision. */
export interface FileVersion {
  readonly path: string
  readonly revision: string
}

/** A place in a file of the user that has some content. */
export interface ContentPlace extends FileVersion {
  /** The first byte. */
  readonly start: number
}

/** Rows that one step changes at most, so that the event loop is never held up for long. */
const stepRows = 1000
/** Places of one block that are tried. */
const mostPlaces = 8

/** Everything at and below a path: `0` is the character after `/`. */
const within = `user = :user AND (path = :path OR (path >= :path || '/' AND path < :path || '0'))`

/** The contents of files of users, as far as they are known. It never shows one user the files of another. */
export class ContentIndex {
  readonly #connection: DatabaseSync
  readonly #find: StatementSync
  readonly #blocks: StatementSync
  readonly #places: StatementSync

  constructor(connection: DatabaseSync) {
    this.#connection = connection
    this.#find = connection.prepare(
      'SELECT id, size, sha256 FROM files WHERE user = ? AND path = ? AND revision = ?',
    )
    this.#blocks = connection.prepare('SELECT size, sha256 FROM blocks WHERE file = ? ORDER BY start')
    this.#places = connection.prepare(`
      SELECT path, revision, 0 AS start FROM files WHERE user = :user AND sha256 = :sha256 AND size = :size
      UNION ALL
      SELECT path, revision, start FROM blocks JOIN files ON files.id = blocks.file
        WHERE blocks.sha256 = :sha256 AND blocks.size = :size AND user = :user
      LIMIT ${mostPlaces}`)
  }

  /** The SHA-256 of a file; null if it is not known. */
  sha256Of(userUuid: string, { path, revision }: FileVersion): string | null {
    const row = this.#find.get(userUuid, path, revision)
    return row === undefined ? null : hexadecimal(row.sha256)
  }

  /** The content of a file; null if it is not known. */
  contentOf(userUuid: string, { path, revision }: FileVersion): Content | null {
    const row = this.#find.get(userUuid, path, revision)
    if (row === undefined) return null
    const whole = { sha256: hexadecimal(row.sha256), size: Number(row.size) }
    const blocks = this.#blocks.all(Number(row.id)).map(({ size, sha256 }) => {
      return { sha256: hexadecimal(sha256), size: Number(size) }
    })
    return { ...whole, blocks: blocks.length === 0 && whole.size > 0 ? [whole] : blocks }
  }

  /** Places where the user's files have a block, or had it when they were indexed. */
  placesOf(userUuid: string, { sha256, size }: Block): ContentPlace[] {
    return this.#places
      .all({ user: userUuid, sha256: Buffer.from(sha256, 'hex'), size })
      .map(({ path, revision, start }) => {
        return { path: String(path), revision: String(revision), start: Number(start) }
      })
  }

  /** Remembers the content of a file, instead of that of the revision before. */
  set(userUuid: string, { path, revision }: FileVersion, { sha256, size, blocks }: Content): void {
    inTransaction(this.#connection, () => {
      this.#connection.prepare('DELETE FROM files WHERE user = ? AND path = ?').run(userUuid, path)
      const { lastInsertRowid } = this.#connection
        .prepare('INSERT INTO files (user, path, revision, size, sha256) VALUES (?, ?, ?, ?, ?)')
        .run(userUuid, path, revision, size, Buffer.from(sha256, 'hex'))
      if (blocks.length < 2) return
      const insert = this.#connection.prepare(
        'INSERT INTO blocks (file, start, size, sha256) VALUES (?, ?, ?, ?)',
      )
      let start = 0
      for (const block of blocks) {
        insert.run(lastInsertRowid, start, block.size, Buffer.from(block.sha256, 'hex'))
        start += block.size
      }
    })
  }

  /** Forgets one file. */
  forget(userUuid: string, path: string): void {
    this.#connection.prepare('DELETE FROM files WHERE user = ? AND path = ?').run(userUuid, path)
  }

  /** Forgets a file, or a folder with everything in it. */
  async forgetTree(userUuid: string, path: string): Promise<void> {
    const step = this.#connection.prepare(
      `DELETE FROM files WHERE id IN (SELECT id FROM files WHERE ${within} LIMIT ${stepRows})`,
    )
    while (step.run({ user: userUuid, path }).changes === stepRows) await setImmediate()
  }

  /** Follows the move of a file, or of a folder with everything in it. A move within a storage keeps revisions. */
  async moveTree(userUuid: string, source: string, destination: string): Promise<void> {
    await this.forgetTree(userUuid, destination)
    const step = this.#connection.prepare(
      `UPDATE OR REPLACE files SET path = :destination || substr(path, length(:path) + 1)
       WHERE id IN (SELECT id FROM files WHERE ${within} LIMIT ${stepRows})`,
    )
    while (step.run({ user: userUuid, path: source, destination }).changes === stepRows) await setImmediate()
  }

  /** How far the changes of a user are in the index; null if the files must be listed. */
  positionOf(userUuid: string): ChangePosition | null {
    const row = this.#connection.prepare('SELECT epoch, seq, id FROM indexed WHERE user = ?').get(userUuid)
    return row === undefined ? null : { epoch: String(row.epoch), seq: Number(row.seq), id: String(row.id) }
  }

  setPosition(userUuid: string, { epoch, seq, id }: ChangePosition): void {
    this.#connection
      .prepare('INSERT OR REPLACE INTO indexed (user, epoch, seq, id) VALUES (?, ?, ?, ?)')
      .run(userUuid, epoch, seq, id)
  }

  async erase(userUuid: string): Promise<void> {
    await this.forgetTree(userUuid, '')
    this.#connection.prepare('DELETE FROM indexed WHERE user = ?').run(userUuid)
  }
}

function hexadecimal(value: unknown): string {
  return Buffer.from(value as Uint8Array).toString('hex')
}
