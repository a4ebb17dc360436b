import type { DatabaseSync } from 'node:sqlite'
import { inTransaction, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

/** Bytes that a property counts beside its text. */
const overhead = 100

/** Milliseconds for which the properties of an entry are kept that is gone: it may come back from the trash. */
const keepGoneMs = 60 * 24 * 60 * 60 * 1000

interface PropertyLimits {
  readonly bytesPerEntry: number
  readonly bytesPerUser: number
}

/**
 * The properties that clients set on files and folders, and that the node only keeps ("dead properties", RFC 4918, section 4.2). They belong to
 * the id of an entry in the index of files, so they follow it when it moves by any way.
 */
export class DeadProperties {
  readonly #connection: DatabaseSync
  readonly #limits: PropertyLimits

  constructor(connection: DatabaseSync, limits: PropertyLimits) {
    this.#connection = connection
    this.#limits = limits
  }

  /** Whether a user has any. Most have none. */
  hasAny(userUuid: string): boolean {
    const row = this.#connection
      .prepare('SELECT 1 FROM property_entries WHERE user = ? LIMIT 1')
      .get(userUuid)
    return row !== undefined
  }

  /** The properties of an entry, as whole elements by their names, such as `{http://example.org}color`. */
  of(userUuid: string, entry: string): ReadonlyMap<string, string> {
    const rows = this.#connection
      .prepare('SELECT name, xml FROM properties WHERE user = ? AND entry = ? ORDER BY name')
      .all(userUuid, entry)
    return new Map(rows.map(({ name, xml }) => [String(name), String(xml)]))
  }

  /**
   * Sets properties, and removes those that are null. Nothing changes if it fails.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE above a limit
   */
  change(userUuid: string, entry: string, changes: ReadonlyMap<string, string | null>): void {
    inTransaction(this.#connection, () => {
      for (const [name, xml] of changes) this.#set(userUuid, entry, name, xml)
      this.#note(userUuid, entry)
      this.#checkLimits(userUuid, entry)
    })
  }

  /** Gives an entry the properties of another one in place of its own. Above a limit, it has none then. */
  copy(userUuid: string, from: string, to: string): void {
    this.clear(userUuid, to)
    try {
      this.change(userUuid, to, this.of(userUuid, from))
    } catch (error) {
      // The files are copied already.
      if (!isNodekeepError(error) || error.code !== 'INSUFFICIENT_STORAGE') throw error
    }
  }

  clear(userUuid: string, entry: string): void {
    inTransaction(this.#connection, () => this.#clear(userUuid, entry))
  }

  /** The ids of the entries of a user that have properties. */
  entriesOf(userUuid: string): string[] {
    return this.#connection
      .prepare('SELECT entry FROM property_entries WHERE user = ?')
      .all(userUuid)
      .map(({ entry }) => String(entry))
  }

  /** All entries with properties, in pages. */
  *all(): Generator<{ readonly userUuid: string; readonly entry: string }> {
    const page = this.#connection.prepare(
      'SELECT user, entry FROM property_entries WHERE (user, entry) > (?, ?) ORDER BY user, entry LIMIT 100',
    )
    let last = { userUuid: '', entry: '' }
    for (;;) {
      const rows = page.all(last.userUuid, last.entry)
      if (rows.length === 0) return
      for (const { user, entry } of rows) {
        last = { userUuid: String(user), entry: String(entry) }
        yield last
      }
    }
  }

  /** Records whether an entry is there. The properties of one that is gone for long are removed. */
  see(userUuid: string, entry: string, isThere: boolean): void {
    const now = Date.now()
    this.#connection
      .prepare(
        'UPDATE property_entries SET gone = iif(:there, NULL, ifnull(gone, :now)) WHERE user = :user AND entry = :entry',
      )
      .run({ there: Number(isThere), now, user: userUuid, entry })
    const row = this.#connection
      .prepare('SELECT gone FROM property_entries WHERE user = ? AND entry = ? AND gone < ?')
      .get(userUuid, entry, now - keepGoneMs)
    if (row !== undefined) this.clear(userUuid, entry)
  }

  erase(userUuid: string): void {
    inTransaction(this.#connection, () => {
      for (const table of ['properties', 'property_entries'])
        this.#connection.prepare(`DELETE FROM ${table} WHERE user = ?`).run(userUuid)
    })
  }

  #set(userUuid: string, entry: string, name: string, xml: string | null): void {
    if (xml === null) {
      this.#connection
        .prepare('DELETE FROM properties WHERE user = ? AND entry = ? AND name = ?')
        .run(userUuid, entry, name)
      return
    }
    const bytes = Buffer.byteLength(name) + Buffer.byteLength(xml) + overhead
    this.#connection
      .prepare('INSERT OR REPLACE INTO properties (user, entry, name, bytes, xml) VALUES (?, ?, ?, ?, ?)')
      .run(userUuid, entry, name, bytes, xml)
  }

  /** Keeps the list of entries that have properties. */
  #note(userUuid: string, entry: string): void {
    const row = this.#connection
      .prepare('SELECT 1 FROM properties WHERE user = ? AND entry = ? LIMIT 1')
      .get(userUuid, entry)
    if (row === undefined) this.#clear(userUuid, entry)
    else
      this.#connection
        .prepare('INSERT OR REPLACE INTO property_entries (user, entry, gone) VALUES (?, ?, NULL)')
        .run(userUuid, entry)
  }

  #clear(userUuid: string, entry: string): void {
    for (const table of ['properties', 'property_entries'])
      this.#connection.prepare(`DELETE FROM ${table} WHERE user = ? AND entry = ?`).run(userUuid, entry)
  }

  #checkLimits(userUuid: string, entry: string): void {
    const { bytesPerEntry, bytesPerUser } = this.#limits
    const bytes = (sql: string, ...values: string[]) =>
      Number(
        this.#connection
          .prepare(`SELECT ifnull(sum(bytes), 0) AS bytes FROM properties WHERE ${sql}`)
          .get(...values)?.bytes,
      )
    if (bytes('user = ? AND entry = ?', userUuid, entry) > bytesPerEntry)
      throw tooMuch(`${bytesPerEntry} bytes of each file or folder (webdav.propertyBytesPerEntry)`)
    if (bytes('user = ?', userUuid) > bytesPerUser)
      throw tooMuch(`${bytesPerUser} bytes of each user (webdav.propertyBytesPerUser)`)
  }
}

function tooMuch(limit: string): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `The node keeps properties of at most ${limit}. Remove some.`,
  )
}
