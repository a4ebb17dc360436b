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

/** One change of one user, in one statement, so that nothing comes in between. */
interface Change {
  /** Assignments, with a `?` for each value. */
  readonly set: string
  readonly values: readonly (string | number)[]
  /** What must hold of the user, and the conflict to report where it doesn't. */
  readonly where?: string
  readonly otherwise?: string
  /** The conflict to report when another user has the value. */
  readonly taken?: string
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
    return this.#change(uuid, {
      set: 'username = ?',
      values: [username],
      taken: `The username "${username}" is taken.`,
    })
  }

  /** Gives a user another wallet. The uuid, and with it all data, stays. */
  async setWallet(uuid: string, address: string): Promise<UserAccount> {
    const wallet = parseWallet(address)
    if (wallet === null) throw new NodekeepError('VALIDATION_ERROR', `"${address}" is no wallet address.`)
    const user = await this.#change(uuid, {
      set: 'wallet = ?',
      values: [wallet],
      taken: `The wallet ${wallet} belongs to another user.`,
    })
    await this.endSessions(uuid)
    return user
  }

  async disable(uuid: string): Promise<UserAccount> {
    const user = await this.#change(uuid, {
      set: 'disabled_at = coalesce(disabled_at, ?)',
      values: [Date.now()],
      where: 'owner IS NULL',
      otherwise: "The owner can't be disabled.",
    })
    await this.endSessions(uuid)
    return user
  }

  /**
   * Lets a user sign in again, also one who is to be deleted. When the time of grace is over, their data may be half
   * gone, and there is no way back.
   */
  enable(uuid: string): Promise<UserAccount> {
    return this.#change(uuid, {
      set: 'disabled_at = NULL, deletion_due = NULL',
      values: [],
      where: "coalesce(deletion_due > unixepoch('subsec') * 1000, TRUE)",
      otherwise: "The removal of this user's data has begun; it can't be taken back any more.",
    })
  }

  /** Disables a user now, and has their data removed when the time for second thoughts is over. */
  async delete(uuid: string): Promise<UserAccount> {
    const now = Date.now()
    const user = await this.#change(uuid, {
      set: 'disabled_at = coalesce(disabled_at, ?), deletion_due = coalesce(deletion_due, ?)',
      values: [now, now + this.#parts.deletionGraceDays * dayMs],
      where: 'owner IS NULL',
      otherwise: "The owner can't be deleted.",
    })
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
    if (!(await this.endIfThere(uuid, id)))
      throw new NodekeepError('NOT_FOUND', 'There is no session with that id.')
  }

  /**
   * The same for who doesn't mind that it has ended already. Then it may still be remembered here, and is forgotten.
   *
   * @returns whether it was there
   */
  async endIfThere(uuid: string, id: string): Promise<boolean> {
    const ended = await this.#parts.sessions.revoke(uuid, id)
    this.#announceEnd(uuid)
    return ended
  }

  #announceEnd(userUuid: string): void {
    this.#parts.authenticator.forget(userUuid)
    this.#parts.events.emit(SessionsEnded, { userUuid })
  }

  async #change(uuid: string, change: Change): Promise<UserAccount> {
    const { set, values, where = 'TRUE', otherwise, taken } = change
    const { database, accounts, authenticator } = this.#parts
    const statement = `UPDATE users SET ${set} WHERE uuid = ? AND ${where}`
    let changed: number
    try {
      changed = await database.use((sql) => sql.run(statement, ...values, uuid))
    } catch (error) {
      if (isUniqueViolation(error)) throw new NodekeepError('CONFLICT', taken ?? 'Taken.', { cause: error })
      throw error
    }
    authenticator.forget(uuid)
    const user = await accounts.get(uuid)
    if (user === null) throw new NodekeepError('NOT_FOUND', 'There is no user with that uuid.')
    if (changed === 0) throw new NodekeepError('CONFLICT', otherwise ?? 'The user could not be changed.')
    return user
  }
}

/** SQLITE_CONSTRAINT_UNIQUE: https://www.sqlite.org/rescode.html#constraint_unique */
function isUniqueViolation(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === 2067
}
