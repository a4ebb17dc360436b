import type { AuthenticatedUser } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import { endOf, type IdleDays, isLive } from '../sessions/session-life.ts'
import type { SessionRecord, SessionTable } from '../sessions/session-table.ts'
import { isTokenForm, tokenHash } from '../sessions/token.ts'
import type { UserCache } from '../sessions/user-sessions.ts'
import type { UserAccount, UserAccounts } from '../users/user-accounts.ts'
import type { Admission } from './admission.ts'

interface AuthenticatorOptions {
  readonly idleDays: IdleDays
  /**
   * Milliseconds for which a result is cached. It is the longest time until this process notices that another process
   * has revoked a session.
   */
  readonly cacheMs?: number
  /** Sessions in the cache. The least recently used one is evicted first. */
  readonly capacity?: number
}

/** How often the time of last use is written for a session in constant use. */
const touchIntervalMs = 60_000

/** Finds the user behind a token, mostly in its cache. */
export class Authenticator implements UserCache {
  readonly #sessions: SessionTable
  readonly #accounts: UserAccounts
  readonly #admission: Admission
  readonly #idleDays: IdleDays
  readonly #cacheMs: number
  /** Users by token. It measures times by the monotonic clock: setting the clock back must not delay a revocation. */
  readonly #users: LRUCache<string, AuthenticatedUser>
  /** The number of invalidations so far. */
  #invalidations = 0

  constructor(
    sessions: SessionTable,
    accounts: UserAccounts,
    admission: Admission,
    options: AuthenticatorOptions,
  ) {
    this.#sessions = sessions
    this.#accounts = accounts
    this.#admission = admission
    this.#idleDays = options.idleDays
    this.#cacheMs = options.cacheMs ?? 5_000
    this.#users = new LRUCache({ max: options.capacity ?? 10_000, ttl: this.#cacheMs, ttlResolution: 0 })
  }

  /** Returns the user if this token was checked a moment ago; `undefined` when it has to be looked up. */
  cached(token: string): AuthenticatedUser | undefined {
    return this.#users.get(token)
  }

  /**
   * Looks up the user behind a token.
   *
   * @returns `null` when the token is unknown, expired or revoked, or its user is disabled or not admitted
   */
  async authenticate(token: string): Promise<AuthenticatedUser | null> {
    this.#users.delete(token)
    if (!isTokenForm(token)) return null
    const invalidations = this.#invalidations
    const hash = tokenHash(token)
    const session = await this.#sessions.find(hash)
    const now = Date.now()
    if (session === null || !isLive(session, this.#idleDays, now)) return null
    const account = await this.#accounts.get(session.userUuid)
    if (account === null || !this.#mayUse(account)) return null
    if (isNewUse(session, now)) await this.#touch(hash, now)
    const { uuid, username, wallet, owner } = account
    const { id: sessionId, label: sessionName, scopes } = session
    const authenticated = Object.freeze({ uuid, username, wallet, owner, sessionId, sessionName, scopes })
    // If anything was invalidated while we were looking up, do not cache: the result may be stale.
    if (invalidations === this.#invalidations) {
      this.#users.set(token, authenticated, { ttl: this.#ttlOf(session, now) })
    }
    return authenticated
  }

  /**
   * Looks up sessions of one user, all at once.
   *
   * @param ids the ids of the sessions
   * @param touchMs milliseconds of age from which on the time of last use is written
   * @returns the ids of those that have not ended, each with the time when it ends if it is not used again, in milliseconds since
   * 1970; none when the user is disabled or not admitted
   */
  async liveAmong(
    userUuid: string,
    ids: ReadonlySet<string>,
    touchMs: number,
  ): Promise<ReadonlyMap<string, number>> {
    const ends = new Map<string, number>()
    const account = await this.#accounts.get(userUuid)
    if (account === null || !this.#mayUse(account)) return ends
    const now = Date.now()
    for (const session of await this.#sessions.listByUser(userUuid)) {
      if (!ids.has(session.id) || !isLive(session, this.#idleDays, now)) continue
      ends.set(session.id, endOf(session, this.#idleDays))
      if (now - session.lastUsedAt.getTime() >= touchMs) await this.#touch(session.tokenHash, now)
    }
    return ends
  }

  /** Removes a user from the cache, after a session was revoked or the user was changed. */
  forget(userUuid: string): void {
    this.#invalidations += 1
    for (const [token, { uuid }] of [...this.#users.entries()]) {
      if (uuid === userUuid) this.#users.delete(token)
    }
  }

  #mayUse(account: UserAccount): boolean {
    return account.disabledAt === null && this.#admission.admits(account)
  }

  /** Writes the time of last use. It ignores errors: a full disk must not lock out the users who could free space. */
  async #touch(hash: Uint8Array, now: number): Promise<void> {
    await this.#sessions.touch(hash, new Date(now)).catch(() => {})
  }

  #ttlOf({ expiresAt }: SessionRecord, now: number): number {
    return expiresAt === null ? this.#cacheMs : Math.min(this.#cacheMs, expiresAt.getTime() - now)
  }
}

/** Tells whether a use is worth writing. The first one of an API token is: people see whether it was ever used. */
function isNewUse({ kind, createdAt, lastUsedAt }: SessionRecord, now: number): boolean {
  const last = lastUsedAt.getTime()
  return now - last >= touchIntervalMs || (kind === 'api-token' && last === createdAt.getTime())
}
