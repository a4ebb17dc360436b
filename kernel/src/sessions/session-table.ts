import type { StateDatabase } from '../state/database.ts'
import type { Row, Sql } from '../state/sql.ts'

/** A stored session. The token itself is never stored, only its SHA-256. */
export interface SessionRecord {
  /** SHA-256 of the token, 32 bytes. */
  readonly tokenHash: Uint8Array
  /** A random id that may be shown. It can revoke the session, but not use it. */
  readonly id: string
  readonly userUuid: string
  /** `session` for the session of a sign-in, `api-token` for a named token of a program. */
  readonly kind: 'session' | 'api-token'
  /** A name for people: the API token's name, or a short form of the user agent that signed in. */
  readonly label: string
  /** Scopes of an API token, `null` for a full session. */
  readonly scopes: readonly string[] | null
  readonly createdAt: Date
  readonly lastUsedAt: Date
  /** The time when the session ends, even if it is in use. `null` for an API token that does not expire. */
  readonly expiresAt: Date | null
}

/**
 * The sessions of a node, in the kernel's own database. It gives two promises that a key-value store cannot give: a record is durable
 * when `create` resolves, and a revoked record is never found again.
 */
export class SessionTable {
  readonly #database: StateDatabase

  constructor(database: StateDatabase) {
    this.#database = database
  }

  create(record: SessionRecord): Promise<void> {
    return this.#database.use((sql) => insertSession(sql, record))
  }

  /** Finds a session by its token hash. It may return expired records; the caller decides. */
  find(tokenHash: Uint8Array): Promise<SessionRecord | null> {
    return this.#database.use((sql) => {
      const row = sql.get('SELECT * FROM sessions WHERE token_hash = ?', tokenHash)
      return row === undefined ? null : toRecord(row)
    })
  }

  /** Sets the time of last use, to one after the creation. It is never replaced by an earlier one: the clock may be set back. */
  async touch(tokenHash: Uint8Array, lastUsedAt: Date): Promise<void> {
    const statement =
      'UPDATE sessions SET last_used_at = max(created_at + 1, last_used_at, ?) WHERE token_hash = ?'
    await this.#database.use((sql) => sql.run(statement, lastUsedAt.getTime(), tokenHash))
  }

  /** Lists the sessions of a user, newest first. */
  listByUser(userUuid: string): Promise<SessionRecord[]> {
    const statement = 'SELECT * FROM sessions WHERE user_uuid = ? ORDER BY created_at DESC, id'
    return this.#database.use((sql) => sql.all(statement, userUuid).map(toRecord))
  }

  /** Ends one session of a user. Resolves to `false` if there is none with that id, or that one is of another kind. */
  revoke(userUuid: string, id: string, kind?: SessionRecord['kind']): Promise<boolean> {
    const statement = 'DELETE FROM sessions WHERE user_uuid = ? AND id = ? AND kind = coalesce(?, kind)'
    return this.#database.use((sql) => sql.run(statement, userUuid, id, kind ?? null) > 0)
  }

  /** Ends all sessions of a user. Resolves to their number. */
  revokeAll(userUuid: string): Promise<number> {
    return this.#database.use((sql) => sql.run('DELETE FROM sessions WHERE user_uuid = ?', userUuid))
  }

  /**
   * Removes the sessions and API tokens that have ended. Resolves to their number.
   *
   * @param endedBefore those that expired before this time go
   * @param unusedSince those of each kind that were not used since its time go, too
   */
  sweep(endedBefore: Date, unusedSince: Readonly<Record<SessionRecord['kind'], Date>>): Promise<number> {
    const statement =
      "DELETE FROM sessions WHERE expires_at < ? OR last_used_at < CASE kind WHEN 'session' THEN ? ELSE ? END"
    const times = [endedBefore, unusedSince.session, unusedSince['api-token']].map((time) => time.getTime())
    return this.#database.use((sql) => sql.run(statement, ...times))
  }
}

export function insertSession(sql: Sql, record: SessionRecord): void {
  sql.run(
    'INSERT INTO sessions (token_hash, id, user_uuid, kind, label, scopes, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    record.tokenHash,
    record.id,
    record.userUuid,
    record.kind,
    record.label,
    record.scopes === null ? null : JSON.stringify(record.scopes),
    record.createdAt.getTime(),
    record.lastUsedAt.getTime(),
    record.expiresAt?.getTime() ?? null,
  )
}

/**
 * Ends the least recently used sessions of a user beyond the limit. API tokens do not count.
 *
 * @param newest the session that stays in any case
 * @returns the number of ended sessions
 */
export function endSurplusSessions(sql: Sql, newest: SessionRecord, limit: number): number {
  return sql.run(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE user_uuid = ? AND kind = 'session' AND id <> ? ORDER BY last_used_at DESC, created_at DESC LIMIT -1 OFFSET ?)",
    newest.userUuid,
    newest.id,
    limit - 1,
  )
}

function toRecord(row: Row): SessionRecord {
  return {
    tokenHash: row.token_hash as Uint8Array,
    id: String(row.id),
    userUuid: String(row.user_uuid),
    kind: row.kind === 'api-token' ? 'api-token' : 'session',
    label: String(row.label),
    scopes: row.scopes === null ? null : (JSON.parse(String(row.scopes)) as string[]),
    createdAt: new Date(Number(row.created_at)),
    lastUsedAt: new Date(Number(row.last_used_at)),
    expiresAt: row.expires_at === null ? null : new Date(Number(row.expires_at)),
  }
}
