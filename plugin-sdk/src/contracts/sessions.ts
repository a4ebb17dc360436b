import { defineEvent } from '../event.ts'

/**
 * Says that sessions of a user ended: revoked, signed out, the user disabled, or over while something went on by them.
 * WebSockets that a session opened are closed by the kernel. Who keeps anything else open for a user, such as a stream
 * of events, ends it. What another process ended is heard of within five seconds.
 */
export const SessionsEnded = defineEvent<{ readonly userUuid: string }>('sessions.ended')

/** A stored session. The token itself is never stored, only its SHA-256. */
export interface SessionRecord {
  /** SHA-256 of the token, 32 bytes. */
  readonly tokenHash: Uint8Array
  /** A random id that may be shown; it allows to revoke the session, not to use it. */
  readonly id: string
  readonly userUuid: string
  /** `session` for one that a sign-in made, `api-token` for a named token of a program. */
  readonly kind: 'session' | 'api-token'
  /** A name for people: the API token's name, or a short form of the signing-in user agent. */
  readonly label: string
  /** Scopes of an API token, `null` for a full session. */
  readonly scopes: readonly string[] | null
  readonly createdAt: Date
  readonly lastUsedAt: Date
  /** From this moment on the session is over, whatever its use. `null` for an API token that does not expire. */
  readonly expiresAt: Date | null
}

/**
 * Where sessions are kept. It has a contract of its own because a key-value store cannot promise what sessions
 * need: a record answered by `create` is durable, and a revoked one is never found again.
 */
export interface SessionStore {
  /** Stores a session durably before it resolves. */
  create(record: SessionRecord): Promise<void>
  /** Finds by token hash. Expired records may be returned; the caller decides. */
  find(tokenHash: Uint8Array): Promise<SessionRecord | null>
  /** Moves the time of last use, and the end where it is given. Later values win over earlier ones. */
  touch(tokenHash: Uint8Array, lastUsedAt: Date, expiresAt?: Date): Promise<void>
  /** The sessions of a user, newest first. */
  listByUser(userUuid: string): Promise<SessionRecord[]>
  /** Ends one session of a user. `false` when there is none with that id. */
  revoke(userUuid: string, id: string): Promise<boolean>
  /** Ends every session of a user and tells how many there were. */
  revokeAll(userUuid: string): Promise<number>
  /** Removes what ended before the given moment and tells how much. */
  sweep(endedBefore: Date): Promise<number>
}
