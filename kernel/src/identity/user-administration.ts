import {
  type EventBus,
  NodekeepError,
  parseWallet,
  type SessionRecord,
  type SessionStore,
  SessionsEnded,
} from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Authenticator } from './authenticator.ts'
import type { UserAccounts } from './user-accounts.ts'
import {
  changingWallet,
  deleting,
  disabling,
  enabling,
  renaming,
  together,
  type UserChange,
} from './user-changes.ts'
import { appointOwner, type UserAccount } from './user-table.ts'
import { swapWallet } from './wallet-swap.ts'

export interface UserAdministrationParts {
  readonly database: StateDatabase
  readonly accounts: UserAccounts
  readonly sessions: SessionStore
  readonly authenticator: Authenticator
  readonly events: EventBus
  readonly deletionGraceDays: number
}

/** What is to change of a user; at least one of it. */
export interface UserUpdate {
  readonly username?: string | undefined
  readonly disabled?: boolean | undefined
}

/**
 * Changes users. Whatever ends a right takes effect at once: sessions are gone and the memory of them too.
 *
 * Methods throw NodekeepError: NOT_FOUND for an unknown user, CONFLICT where the change cannot be, VALIDATION_ERROR.
 */
export class UserAdministration {
  readonly #parts: UserAdministrationParts

  constructor(parts: UserAdministrationParts) {
    this.#parts = parts
  }

  /** Renames, disables or enables a user: what is asked for, and all of it or nothing. */
  async update(uuid: string, { username, disabled }: UserUpdate): Promise<UserAccount> {
    const changes = username === undefined ? [] : [renaming(username)]
    if (disabled !== undefined) changes.push(disabled ? disabling() : enabling())
    const user = await this.#change(uuid, together(changes))
    if (disabled === true) await this.endSessions(uuid)
    return user
  }

  rename(uuid: string, username: string): Promise<UserAccount> {
    return this.update(uuid, { username })
  }

  disable(uuid: string): Promise<UserAccount> {
    return this.update(uuid, { disabled: true })
  }

  /** Lets a user sign in again, also one who is to be deleted. */
  enable(uuid: string): Promise<UserAccount> {
    return this.update(uuid, { disabled: false })
  }

  /** Gives a user another wallet. The uuid, and with it all data, stays. */
  async setWallet(uuid: string, address: string): Promise<UserAccount> {
    const user = await this.#change(uuid, changingWallet(address))
    await this.endSessions(uuid)
    return user
  }

  /**
   * The same where another user may have the wallet, who then gets this one's old wallet.
   *
   * @param owner whether whoever has the wallet is the owner, as `auth.owner` says
   */
  async swapWallet(uuid: string, address: string, owner: boolean): Promise<UserAccount> {
    const wallet = parseWallet(address)
    if (wallet === null) throw new NodekeepError('VALIDATION_ERROR', `"${address}" is no wallet address.`)
    const other = await this.#parts.database.transaction((sql) => {
      const holder = swapWallet(sql, uuid, wallet)
      if (owner) appointOwner(sql, wallet)
      return holder
    })
    for (const changed of other === null ? [uuid] : [uuid, other]) await this.endSessions(changed)
    return this.#existing(uuid)
  }

  /** Disables a user now, and has their data removed when the time for second thoughts is over. */
  async delete(uuid: string): Promise<UserAccount> {
    const user = await this.#change(uuid, deleting(this.#parts.deletionGraceDays))
    await this.endSessions(uuid)
    return user
  }

  /** Ends all sessions and API tokens of a user. */
  async endSessions(uuid: string): Promise<number> {
    const count = await this.#parts.sessions.revokeAll(uuid)
    this.announceEnd(uuid)
    return count
  }

  /**
   * Ends one session or API token of a user.
   *
   * @param kind of which kind it has to be; either when not given
   */
  async endSession(uuid: string, id: string, kind?: SessionRecord['kind']): Promise<void> {
    const records = kind === undefined ? [] : await this.#parts.sessions.listByUser(uuid)
    const isOther = records.some((record) => record.id === id && record.kind !== kind)
    if (!isOther && (await this.endIfThere(uuid, id))) return
    throw new NodekeepError('NOT_FOUND', `There is no ${kindName(kind)} with that id.`)
  }

  /**
   * The same for who doesn't mind that it has ended already. Then it may still be remembered here, and is forgotten.
   *
   * @returns whether it was there
   */
  async endIfThere(uuid: string, id: string): Promise<boolean> {
    const ended = await this.#parts.sessions.revoke(uuid, id)
    this.announceEnd(uuid)
    return ended
  }

  /** Lets everybody know that sessions of a user have ended. */
  announceEnd(userUuid: string): void {
    this.#parts.authenticator.forget(userUuid)
    this.#parts.events.emit(SessionsEnded, { userUuid })
  }

  async #change(uuid: string, change: UserChange): Promise<UserAccount> {
    const { set, values, where = 'TRUE', otherwise, taken } = change
    const { database, authenticator } = this.#parts
    const statement = `UPDATE users SET ${set} WHERE uuid = ? AND ${where}`
    let changed: number
    try {
      changed = await database.use((sql) => sql.run(statement, ...values, uuid))
    } catch (error) {
      if (isUniqueViolation(error)) throw new NodekeepError('CONFLICT', taken ?? 'Taken.', { cause: error })
      throw error
    }
    authenticator.forget(uuid)
    const user = await this.#existing(uuid)
    if (changed === 0) throw new NodekeepError('CONFLICT', otherwise ?? 'The user could not be changed.')
    return user
  }

  async #existing(uuid: string): Promise<UserAccount> {
    const user = await this.#parts.accounts.get(uuid)
    if (user === null) throw new NodekeepError('NOT_FOUND', 'There is no user with that uuid.')
    return user
  }
}

function kindName(kind: SessionRecord['kind'] | undefined): string {
  if (kind === undefined) return 'session or API token'
  return kind === 'session' ? 'session' : 'API token'
}

/** SQLITE_CONSTRAINT_UNIQUE: https://www.sqlite.org/rescode.html#constraint_unique */
function isUniqueViolation(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === 2067
}
