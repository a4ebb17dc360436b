import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type AuthenticatedUser, NodekeepError } from '@nodekeep/plugin-sdk'

/** Milliseconds after which a device that was not connected holds no changes back, and must list all files. */
const awayMs = 90 * 24 * 60 * 60 * 1000

/** A program of a user that keeps a copy of the files. */
export interface Device {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  /** When it was last connected. */
  readonly seenAt: Date
}

/** A position in the changes that a device has stored. */
interface StoredPosition {
  readonly epoch: string
  readonly cursor: number
}

/**
 * `token`: the id of the session or API token that made the device. Times are milliseconds since 1970. The column `listing` came later.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS devices (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    created INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    epoch TEXT,
    cursor INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS devices_of_users ON devices (user);
`
const columnListing = `SELECT name FROM pragma_table_info('devices') WHERE name = 'listing'`

/** The devices of all users. */
export class Devices {
  readonly #connection: DatabaseSync
  readonly #mostPerUser: number
  /** The listings that this process has asked devices for and that they have not stored yet, by the ids of the devices. */
  readonly #askedListings = new Map<string, string>()

  /** @param mostPerUser devices of one user */
  constructor(file: string, mostPerUser: number) {
    this.#mostPerUser = mostPerUser
    this.#connection = new DatabaseSync(file, { timeout: 5000 })
    // A position that a power failure takes back only makes the journal keep more.
    this.#connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    this.#connection.exec(tables)
    if (this.#connection.prepare(columnListing).get() === undefined)
      this.#connection.exec('ALTER TABLE devices ADD COLUMN listing TEXT')
  }

  /** @throws NodekeepError CONFLICT if the user has too many devices */
  create({ uuid, sessionId }: AuthenticatedUser, name: string): Device {
    const now = Date.now()
    if (this.list(uuid).length >= this.#mostPerUser) {
      throw new NodekeepError(
        'CONFLICT',
        `You have ${this.#mostPerUser} devices already. Remove one that you no longer use.`,
      )
    }
    const id = randomUUID()
    this.#connection
      .prepare('INSERT INTO devices (id, user, name, token, created, seen) VALUES (?, ?, ?, ?, ?, ?)')
      .run(id, uuid, name, sessionId, now, now)
    return { id, name, createdAt: new Date(now), seenAt: new Date(now) }
  }

  /**
   * The device that a client speaks for. A full session acts for all devices of its user. An API token acts only for those
   * that it made, so that a token which leaked cannot disturb other devices.
   *
   * @throws NodekeepError NOT_FOUND if the user has no such device, FORBIDDEN if the token may not act for it
   */
  of({ uuid, sessionId, scopes }: AuthenticatedUser, id: string): Device {
    const row = this.#connection.prepare('SELECT * FROM devices WHERE id = ? AND user = ?').get(id, uuid)
    if (row === undefined) {
      throw new NodekeepError(
        'NOT_FOUND',
        'You have no such device. It may have been removed. Say hello without "device" to add it again.',
      )
    }
    if (scopes !== null && row.token !== sessionId) {
      throw new NodekeepError(
        'FORBIDDEN',
        'Another session or API token made this device. Use that one, or sign in, or say hello without "device".',
      )
    }
    return deviceOf(row)
  }

  /** The devices of a user, oldest first. */
  list(userUuid: string): Device[] {
    const select = 'SELECT * FROM devices WHERE user = ? ORDER BY created, id'
    return this.#connection.prepare(select).all(userUuid).map(deviceOf)
  }

  remove(id: string): void {
    this.#askedListings.delete(id)
    this.#connection.prepare('DELETE FROM devices WHERE id = ?').run(id)
  }

  /** Records that a device is connected. */
  see(id: string): void {
    this.#connection.prepare('UPDATE devices SET seen = ? WHERE id = ?').run(Date.now(), id)
  }

  /** Records that a device has stored everything up to a position. */
  store(id: string, { epoch, cursor }: StoredPosition): void {
    this.#connection.prepare('UPDATE devices SET epoch = ?, cursor = ? WHERE id = ?').run(epoch, cursor, id)
  }

  /** Names the listing of all files that a device is asked for. */
  askForListing(id: string): string {
    const listing = randomUUID()
    this.#askedListings.set(id, listing)
    return listing
  }

  /** Records that a device has stored the listing that it was asked for last. */
  storeListing(id: string, listing: string): void {
    if (this.#askedListings.get(id) !== listing) return
    this.#askedListings.delete(id)
    this.#connection.prepare('UPDATE devices SET listing = ? WHERE id = ?').run(listing, id)
  }

  /** Whether a listing is the last one that a device has stored, or is asked for by this process. */
  knowsListing(id: string, listing: string): boolean {
    if (this.#askedListings.get(id) === listing) return true
    const select = 'SELECT id FROM devices WHERE id = ? AND listing = ?'
    return this.#connection.prepare(select).get(id, listing) !== undefined
  }

  /** The oldest cursor of a user's devices that were not away for too long; null without such a device. */
  oldestCursor(userUuid: string, epoch: string): number | null {
    const select = 'SELECT min(cursor) AS oldest FROM devices WHERE user = ? AND epoch = ? AND seen > ?'
    const oldest = this.#connection.prepare(select).get(userUuid, epoch, Date.now() - awayMs)?.oldest
    return typeof oldest === 'number' ? oldest : null
  }

  /** The users who have devices. */
  users(): string[] {
    return this.#connection
      .prepare('SELECT DISTINCT user FROM devices')
      .all()
      .map(({ user }) => String(user))
  }

  erase(userUuid: string): void {
    for (const { id } of this.list(userUuid)) this.#askedListings.delete(id)
    this.#connection.prepare('DELETE FROM devices WHERE user = ?').run(userUuid)
  }

  close(): void {
    this.#connection.close()
  }
}

/** Whether a device was away for too long: the journal may have deleted changes that it has not seen. */
export function wasAway({ seenAt }: Device): boolean {
  return Date.now() - seenAt.getTime() > awayMs
}

function deviceOf({ id, name, created, seen }: Record<string, unknown>): Device {
  return {
    id: String(id),
    name: String(name),
    createdAt: new Date(Number(created)),
    seenAt: new Date(Number(seen)),
  }
}
