import type { AuthenticatedUser, SessionRecord, SessionStore } from '@nodekeep/plugin-sdk'
import type { Admission } from './admission.ts'
import { isLive } from './session-life.ts'
import { isTokenForm, tokenHash } from './token.ts'
import type { UserAccounts } from './user-accounts.ts'

export interface AuthenticatorOptions {
  /** Milliseconds without use after which a session is over. */
  readonly idleMs: number
  /** Milliseconds for which an answer of the store is believed: so long may another process's revocation take. */
  readonly believeMs?: number
  /** How many sessions are remembered. */
  readonly capacity?: number
}

interface Remembered {
  readonly user: AuthenticatedUser
  /** By the clock that nobody sets: a revocation must not wait for a clock that was set back. */
  readonly believedUntil: number
}

/** How often the time of last use is written for a session in constant use. */
const touchEveryMs = 60_000

/** Finds the user behind a token, mostly from memory. */
export class Authenticator {
  readonly #sessions: SessionStore
  readonly #accounts: UserAccounts
  readonly #admission: Admission
  readonly #idleMs: number
  readonly #believeMs: number
  readonly #capacity: number
  readonly #remembered = new Map<string, Remembered>()
  #forgotten = 0

  constructor(
    sessions: SessionStore,
    accounts: UserAccounts,
    admission: Admission,
    options: AuthenticatorOptions,
  ) {
    this.#sessions = sessions
    this.#accounts = accounts
    this.#admission = admission
    this.#idleMs = options.idleMs
    this.#believeMs = options.believeMs ?? 5_000
    this.#capacity = options.capacity ?? 10_000
  }

  /** The user if this token was checked a moment ago; `undefined` when it has to be looked up. */
  cached(token: string): AuthenticatedUser | undefined {
    const remembered = this.#remembered.get(token)
    return remembered !== undefined && remembered.believedUntil > performance.now()
      ? remembered.user
      : undefined
  }

  /** The user behind a token; `null` when the token is unknown, over, revoked, or its user not to be let in. */
  async authenticate(token: string): Promise<AuthenticatedUser | null> {
    this.#remembered.delete(token)
    if (!isTokenForm(token)) return null
    const forgotten = this.#forgotten
    const hash = tokenHash(token)
    const session = await this.#sessions.find(hash)
    const now = Date.now()
    if (session === null || !isLive(session, this.#idleMs, now)) return null
    const account = await this.#accounts.get(session.userUuid)
    if (account === null || account.disabledAt !== null || !this.#admission.admits(account)) return null
    if (now - session.lastUsedAt.getTime() >= touchEveryMs) await this.#touch(hash, now)
    const { uuid, username, wallet, owner } = account
    const { id: sessionId, scopes } = session
    const authenticated = Object.freeze({ uuid, username, wallet, owner, sessionId, scopes })
    // What was looked up before something was forgotten may be what had to be forgotten.
    if (forgotten === this.#forgotten) this.#remember(token, authenticated, this.#believeUntil(session, now))
    return authenticated
  }

  /** Forgets what it remembers of a user, after a session was revoked or the user was changed. */
  forget(userUuid: string): void {
    this.#forgotten += 1
    for (const [token, { user }] of this.#remembered) {
      if (user.uuid === userUuid) this.#remembered.delete(token)
    }
  }

  /** A full disk must not keep people out: they may be about to make room. The next request tries again. */
  async #touch(hash: Uint8Array, now: number): Promise<void> {
    await this.#sessions.touch(hash, new Date(now)).catch(() => {})
  }

  #believeUntil(session: SessionRecord, now: number): number {
    const left = session.expiresAt === null ? Number.POSITIVE_INFINITY : session.expiresAt.getTime() - now
    return performance.now() + Math.min(this.#believeMs, left)
  }

  #remember(token: string, user: AuthenticatedUser, believedUntil: number): void {
    if (this.#remembered.size >= this.#capacity) {
      const oldest = this.#remembered.keys().next()
      if (!oldest.done) this.#remembered.delete(oldest.value)
    }
    this.#remembered.set(token, { user, believedUntil })
  }
}
