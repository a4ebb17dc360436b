import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Failure } from '../failures.ts'
import type { PictureFacts } from '../protocol/orders.ts'

/** The outcome of decoding a content. */
interface DecodedContent {
  /** Null if there are previews. */
  readonly failure: Failure | null
  /** Null for the cover of audio, and after a failure. */
  readonly facts: PictureFacts | null
}

/** A photo in the order of dates. */
export interface DatedPhoto extends PictureFacts {
  /** The id of the entry in the index. */
  readonly id: string
  /** Milliseconds since 1970. A time of a camera counts as if it were UTC. */
  readonly date: number
}

/** A place in the list of photos, which begins with the newest. */
export type PhotoPosition = Pick<DatedPhoto, 'date' | 'id'>

/** A part of the list of photos. */
export interface PhotoRange {
  /** Milliseconds since 1970, the first one included, the last one not. */
  readonly from: number
  readonly until: number
  /** The photo before the first one. */
  readonly after: PhotoPosition | null
  readonly limit: number
}

/** The contents of users that were decoded, or that failed. Each user has rows of their own, so nobody learns who has the same files. */
export class ContentTable {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get(userUuid: string, sha256: string): DecodedContent | null {
    const row = this.#database
      .prepare('SELECT * FROM content WHERE user = ? AND sha256 = ?')
      .get(userUuid, sha256)
    if (row === undefined) return null
    return { failure: row.failure as Failure | null, facts: row.width === null ? null : factsOf(row) }
  }

  putFacts(userUuid: string, sha256: string, facts: PictureFacts | null): void {
    const { width = null, height = null, taken = null, place = null, camera = null } = facts ?? {}
    this.#database
      .prepare('INSERT OR REPLACE INTO content VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?)')
      .run(userUuid, sha256, width, height, taken, place?.latitude ?? null, place?.longitude ?? null, camera)
  }

  putFailure(userUuid: string, sha256: string, failure: Failure): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO content (user, sha256, failure) VALUES (?, ?, ?)')
      .run(userUuid, sha256, failure)
  }

  /** Forgets failures of other decoders, which had other faults. Returns whether the decoders are others. */
  changeDecoders(names: string): boolean {
    const known = this.#database.prepare('SELECT names FROM decoders').get()
    if (known?.names === names) return false
    this.#database.exec('DELETE FROM content WHERE failure IS NOT NULL; DELETE FROM decoders')
    this.#database.prepare('INSERT INTO decoders VALUES (?)').run(names)
    return true
  }

  /** The photos of a user, the newest first. */
  photos(userUuid: string, { from, until, after, limit }: PhotoRange): DatedPhoto[] {
    return this.#database
      .prepare(
        `SELECT entry.id, entry.date, content.* FROM entry
         JOIN content ON content.user = entry.user AND content.sha256 = entry.sha256
         WHERE entry.user = :user AND date >= :from AND date < :until AND (date, id) < (:date, :id)
         ORDER BY date DESC, id DESC LIMIT :limit`,
      )
      .all({
        user: userUuid,
        from,
        until,
        date: after?.date ?? Number.MAX_SAFE_INTEGER,
        id: after?.id ?? '',
        limit,
      })
      .map(photoOf)
  }

  /** A photo of a user; null for an entry that is none, or that nobody has looked at. */
  photo(userUuid: string, id: string): DatedPhoto | null {
    const row = this.#database
      .prepare(
        `SELECT entry.id, entry.date, content.* FROM entry
         JOIN content ON content.user = entry.user AND content.sha256 = entry.sha256
         WHERE entry.user = ? AND entry.id = ? AND date IS NOT NULL`,
      )
      .get(userUuid, id)
    return row === undefined ? null : photoOf(row)
  }

  /** @param userUuid null for all users */
  countMade(userUuid: string | null): number {
    const row = this.#database
      .prepare('SELECT count(*) AS count FROM content WHERE failure IS NULL AND user = coalesce(?, user)')
      .get(userUuid)
    return Number(row?.count)
  }

  /** The number of failed contents by their reason. @param userUuid null for all users */
  countFailed(userUuid: string | null): Record<string, number> {
    const rows = this.#database
      .prepare(
        `SELECT failure, count(*) AS count FROM content
         WHERE failure IS NOT NULL AND user = coalesce(?, user) GROUP BY failure ORDER BY failure`,
      )
      .all(userUuid)
    return Object.fromEntries(rows.map(({ failure, count }) => [String(failure), Number(count)]))
  }

  /** Removes contents that no file of the user has any more. */
  removeUnused(userUuid: string): void {
    this.#database
      .prepare(
        `DELETE FROM content WHERE user = ?1 AND NOT EXISTS (
           SELECT 1 FROM entry WHERE entry.user = ?1 AND entry.sha256 = content.sha256)`,
      )
      .run(userUuid)
  }

  erase(userUuid: string): void {
    this.#database.prepare('DELETE FROM content WHERE user = ?').run(userUuid)
  }
}

function photoOf(row: Record<string, SQLOutputValue>): DatedPhoto {
  return { id: String(row.id), date: Number(row.date), ...factsOf(row) }
}

function factsOf(row: Record<string, SQLOutputValue>): PictureFacts {
  const { width, height, taken, latitude, longitude, camera } = row
  const isPlaced = latitude !== null && longitude !== null
  return {
    width: Number(width),
    height: Number(height),
    taken: taken as string | null,
    place: isPlaced ? { latitude: Number(latitude), longitude: Number(longitude) } : null,
    camera: camera as string | null,
  }
}
