import type { DatabaseSync } from 'node:sqlite'
import type { PreviewSize } from '../preview-sizes.ts'
import { unlessFull } from './unless-full.ts'

/** Milliseconds after which another use of a preview is written down. */
const useEveryMs = 60 * 60 * 1000

/** Names a preview. */
export interface PreviewKey {
  readonly userUuid: string
  /** Of the content. */
  readonly sha256: string
  readonly size: PreviewSize
}

/** The previews in the cache, with their sizes in bytes and when they were used. */
export class CacheTable {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** The bytes of a preview; null if it is not there. It counts as used. */
  use({ userUuid, sha256, size }: PreviewKey): number | null {
    const row = this.#database
      .prepare('SELECT bytes, used FROM preview WHERE user = ? AND sha256 = ? AND size = ?')
      .get(userUuid, sha256, size)
    if (row === undefined) return null
    const now = Date.now()
    const update = this.#database.prepare(
      'UPDATE preview SET used = ? WHERE user = ? AND sha256 = ? AND size = ?',
    )
    if (Math.abs(now - Number(row.used)) > useEveryMs)
      unlessFull(() => update.run(now, userUuid, sha256, size))
    return Number(row.bytes)
  }

  has({ userUuid, sha256, size }: PreviewKey): boolean {
    const select = 'SELECT 1 FROM preview WHERE user = ? AND sha256 = ? AND size = ?'
    return this.#database.prepare(select).get(userUuid, sha256, size) !== undefined
  }

  add({ userUuid, sha256, size }: PreviewKey, bytes: number): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO preview VALUES (?, ?, ?, ?, ?)')
      .run(userUuid, sha256, size, bytes, Date.now())
  }

  remove({ userUuid, sha256, size }: PreviewKey): void {
    this.#database
      .prepare('DELETE FROM preview WHERE user = ? AND sha256 = ? AND size = ?')
      .run(userUuid, sha256, size)
  }

  /** Some previews that were not used for longest. */
  oldest(limit: number): PreviewKey[] {
    return this.#database
      .prepare('SELECT user, sha256, size FROM preview ORDER BY used LIMIT ?')
      .all(limit)
      .map(keyOf)
  }

  /** Some previews of contents that no file of the user has any more. */
  unused(userUuid: string, limit: number): PreviewKey[] {
    return this.#database
      .prepare(
        `SELECT user, sha256, size FROM preview WHERE user = ?1 AND NOT EXISTS (
           SELECT 1 FROM content WHERE content.user = ?1 AND content.sha256 = preview.sha256) LIMIT ?2`,
      )
      .all(userUuid, limit)
      .map(keyOf)
  }

  /** Bytes of all previews. @param userUuid null for all users */
  bytes(userUuid: string | null): number {
    const row = this.#database
      .prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM preview WHERE user = coalesce(?, user)')
      .get(userUuid)
    return Number(row?.bytes)
  }

  erase(userUuid: string): void {
    this.#database.prepare('DELETE FROM preview WHERE user = ?').run(userUuid)
  }
}

function keyOf({ user, sha256, size }: Record<string, unknown>): PreviewKey {
  return { userUuid: String(user), sha256: String(sha256), size: size as PreviewSize }
}
