import { type EventBus, NodekeepError, type SessionStore, SessionsEnded } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Authenticator } from './authenticator.ts'
import type { UserAccount, UserAccounts } from './user-accounts.ts'
import { parseWallet } from './wallet-address.ts'

/** What a username may be; the reason why is in the interface of `User`. */
export const usernamePattern = '^[a-z0-9][a-z0-9_-]{2,29}$'

const dayMs = 24 * 60 * 60 * 1000

export interface UserAdministrationParts {
  readonly database: StateDatabase
  readonly accounts: UserAccounts
  readonly sessions: SessionStore
  readonly authenticator: Authenticator
  readonly events: EventBus
  readonly deletionGraceDays: number
}

/**
 * Changes users. Whatever ends a right takes effect at once: sessions are gone and the memory of them too.
 *
 * Methods throw NodekeepError: NOT_FOUND for an unknown user, CONFLICT where the change can't be, VALIDATION_ERROR.
 */
export class UserAdministration {
  readonly #parts: UserAdministrationParts

  constructor(parts: UserAdministrationParts) {
    this.#parts = parts
  }

  async rename(uuid: string, username: string): Promise<UserAccount> {
    if (!new RegExp(usernamePattern).test(username)) {
      throw new NodekeepError(
        'VALIDATION_ERROR',
        'A username has 3 to 30 lower case letters, digits, dashes and underscores, and begins with a letter or digit.',
      )
    }
    return this.#change(uuid, 'username = ?', [username], `The username "${username}" is taken.`)
  }

  /** Gives a user another wallet. The uuid, and with it all data, stays. */
  async setWallet(uuid: string, address: string): Promise<UserAccount> {
    const wallet = parseWallet(address)
    if (wallet === null) throw new NodekeepError('VALIDATION_ERROR', `"${address}" is no wallet address.`)
    const user = await this.#change(
      uuid,
      'wallet = ?',
      [wallet],
      `The wallet ${wallet} belongs to another user.`,
    )
    await this.endSessions(uuid)
    return user
  }

  async disable(uuid: string): Promise<UserAccount> {
    await this.#refuseOwner(uuid, 'disabled')
    const user = await this.#change(uuid, 'disabled_at = coalesce(disabled_at, ?)', [Date.now()])
    await this.endSessions(uuid)
    return user
  }

  /** Lets a user sign in again, also one who is to be deleted and isn't yet. */
  enable(uuid: string): Promise<UserAccount> {
    return this.#change(uuid, 'disabled_at = NULL, deletion_due = NULL', [])
  }

  /** Disables a user now, and has their data removed when the time for second thoughts is over. */
  async delete(uuid: string): Promise<UserAccount> {
    await this.#refuseOwner(uuid, 'deleted')
    const now = Date.now()
    const due = now + this.#parts.deletionGraceDays * dayMs
    const user = await this.#change(
      uuid,
      'disabled_at = coalesce(disabled_at, ?), deletion_due = coalesce(deletion_due, ?)',
      [now, due],
    )
    await this.endSessions(uuid)
    return user
  }

  /** Ends all sessions and API tokens of a user. */
  async endSessions(uuid: string): Promise<number> {
    const count = await this.#parts.sessions.revokeAll(uuid)
    this.#announceEnd(uuid)
    return count
  }

  /** Ends one session or API token of a user. */
  async endSession(uuid: string, id: string): Promise<void> {
    if (!(await this.#parts.sessions.revoke(uuid, id))) {
      throw new NodekeepError('NOT_FOUND', 'There is no session with that id.')
    }
    this.#announceEnd(uuid)
  }

  #announceEnd(userUuid: string): void {
    this.#parts.authenticator.forget(userUuid)
    this.#parts.events.emit(SessionsEnded, { userUuid })
  }

  async #change(
    uuid: string,
    assignment: string,
    values: readonly (string | number)[],
    conflict = 'The user could not be changed.',
  ): Promise<UserAccount> {
    const { database, accounts, authenticator } = this.#parts
    try {
      await database.use((sql) => sql.run(`UPDATE users SET ${assignment} WHERE uuid = ?`, ...values, uuid))
    } catch (error) {
      if (isUniqueViolation(error)) throw new NodekeepError('CONFLICT', conflict, { cause: error })
      throw error
    }
    authenticator.forget(uuid)
    const user = await accounts.get(uuid)
    if (user === null) throw new NodekeepError('NOT_FOUND', 'There is no user with that uuid.')
    return user
  }

  async #refuseOwner(uuid: string, what: string): Promise<void> {
    const user = await this.#parts.accounts.get(uuid)
    if (user?.owner === true) throw new NodekeepError('CONFLICT', `The owner can't be ${what}.`)
  }
}

/** SQLITE_CONSTRAINT_UNIQUE: https://www.sqlite.org/rescode.html#constraint_unique */
function isUniqueViolation(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === 2067
}
