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
 * The store of sessions. It gives two promises that a key-value store cannot give: a record is durable when `create`
 * resolves, and a revoked record is never found again.
 */
export interface SessionStore {
  /** Stores a session durably before it resolves. */
  create(record: SessionRecord): Promise<void>
  /** Finds a session by its token hash. It may return expired records; the caller decides. */
  find(tokenHash: Uint8Array): Promise<SessionRecord | null>
  /** Sets the time of last use, and the expiry if it is given. A value is never replaced by an earlier one. */
  touch(tokenHash: Uint8Array, lastUsedAt: Date, expiresAt?: Date): Promise<void>
  /** Lists the sessions of a user, newest first. */
  listByUser(userUuid: string): Promise<SessionRecord[]>
  /** Ends one session of a user. Resolves to `false` if there is none with that id. */
  revoke(userUuid: string, id: string): Promise<boolean>
  /** Ends all sessions of a user. Resolves to their number. */
  revokeAll(userUuid: string): Promise<number>
  /** Removes sessions that expired before the given time. Resolves to their number. */
  sweep(endedBefore: Date): Promise<number>
}
