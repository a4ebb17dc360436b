import { conflict, invalid, NodekeepError, parseWallet, usernamePattern } from '@nodekeep/plugin-sdk'
import type { UserCache, UserSessions } from '../sessions/user-sessions.ts'
import type { StateDatabase } from '../state/database.ts'
import type { Sql } from '../state/sql.ts'
import { appointOwner, ensureUser, findUser, type UserAccount } from './user-accounts.ts'

const dayMs = 24 * 60 * 60 * 1000

interface UserAdministrationServices {
  readonly database: StateDatabase
  readonly userSessions: UserSessions
  readonly authenticator: UserCache
  readonly deletionGraceDays: number
  /** Returns a time that has certainly passed, whatever the clock says. */
  readonly past: () => Date | Promise<Date>
}

/** The fields of a user to change; at least one. */
interface UserUpdate {
  readonly username?: string | undefined
  readonly disabled?: boolean | undefined
}

/**
 * Changes users. A change that takes rights away also ends the user's sessions, at once.
 *
 * Methods throw NodekeepError: NOT_FOUND for an unknown user, CONFLICT where the change is not possible, and
 * VALIDATION_ERROR.
 */
export class UserAdministration {
  readonly #services: UserAdministrationServices

  constructor(services: UserAdministrationServices) {
    this.#services = services
  }

  get(uuid: string): Promise<UserAccount> {
    return this.#services.database.use((sql) => existing(sql, uuid))
  }

  /** Renames, disables or enables a user: all of what is asked for, or nothing. To enable a user also cancels a deletion. */
  async update(uuid: string, { username, disabled }: UserUpdate): Promise<UserAccount> {
    if (username !== undefined) checkUsername(username)
    const changed = await this.#change(uuid, (sql, user) => {
      if (username !== undefined) rename(sql, uuid, username)
      if (disabled === true) disable(sql, user)
      else if (disabled === false) enable(sql, user)
    })
    if (disabled === true) await this.#services.userSessions.endAll(uuid)
    return changed
  }

  /**
   * Adds a user, who may then sign in whatever `auth.admission` says. A wallet that has a user keeps that user, under its name.
   *
   * @param username the name of a new user. Default: the beginning of the wallet
   */
  async add(address: string, username?: string): Promise<UserAccount> {
    const wallet = walletOf(address)
    if (username !== undefined) checkUsername(username)
    const { database, authenticator } = this.#services
    const added = await database.transaction((sql) => {
      const isNew = findUser(sql, 'wallet', wallet) === null
      const { uuid, disabledAt } = ensureUser(sql, wallet)
      if (disabledAt !== null) {
        throw conflict(
          `The user of ${wallet} is disabled. "nodekeep user enable ${wallet}" admits the user again.`,
        )
      }
      if (isNew && username !== undefined) rename(sql, uuid, username)
      sql.run('UPDATE users SET added_at = coalesce(added_at, ?) WHERE uuid = ?', Date.now(), uuid)
      return existing(sql, uuid)
    })
    authenticator.forget(added.uuid)
    return added
  }

  /** Disables a user now, and schedules the removal of their data for the end of the grace period. */
  async delete(uuid: string): Promise<UserAccount> {
    const past = await this.#services.past()
    const changed = await this.#change(uuid, (sql, { owner }) => {
      if (owner) throw ownerStays('deleted')
      // With a clock that starts in 1970, the grace period would be over at once. One that began while the clock was ahead begins now.
      const now = Math.max(Date.now(), past.getTime())
      const due = now + this.#services.deletionGraceDays * dayMs
      sql.run(
        `UPDATE users SET disabled_at = min(coalesce(disabled_at, ?), ?), deletion_due = min(coalesce(deletion_due, ?), ?)
         WHERE uuid = ?`,
        now,
        now,
        due,
        due,
        uuid,
      )
    })
    await this.#services.userSessions.endAll(uuid)
    return changed
  }

  /**
   * Gives a user another wallet. The uuid stays, and so does all data.
   *
   * @param swap if another user has the wallet, they get this user's old one, and both keep their data, so the same swap undoes it.
   * `makeOwner` makes the user of the wallet the owner, because `auth.owner` names the wallet. With `null`, it is refused
   */
  async setWallet(
    uuid: string,
    address: string,
    swap: { readonly makeOwner: boolean } | null = null,
  ): Promise<UserAccount> {
    const wallet = walletOf(address)
    const { database, userSessions } = this.#services
    const { changed, ended } = await database.transaction((sql) => {
      const give = (of: string, value: string) =>
        sql.run('UPDATE users SET wallet = ? WHERE uuid = ?', value, of)
      const user = existing(sql, uuid)
      const holder = findUser(sql, 'wallet', wallet)
      if (holder === null || holder.uuid === uuid) give(uuid, wallet)
      else if (swap === null) {
        throw conflict(
          `The wallet ${wallet} belongs to another user. With --swap, "nodekeep user set-wallet" gives them this user's old wallet.`,
        )
      } else {
        // No two users may have one wallet, not even between two statements.
        give(holder.uuid, `exchanged by ${uuid}`)
        give(uuid, wallet)
        give(holder.uuid, user.wallet)
      }
      if (swap?.makeOwner === true) appointOwner(sql, wallet)
      return { changed: existing(sql, uuid), ended: new Set([uuid, holder?.uuid ?? uuid]) }
    })
    for (const user of ended) await userSessions.endAll(user)
    return changed
  }

  /** Changes a user in one transaction, and returns the user as changed. */
  async #change(uuid: string, work: (sql: Sql, user: UserAccount) => void): Promise<UserAccount> {
    const { database, authenticator } = this.#services
    const changed = await database.transaction((sql) => {
      work(sql, existing(sql, uuid))
      return existing(sql, uuid)
    })
    authenticator.forget(uuid)
    return changed
  }
}

function rename(sql: Sql, uuid: string, username: string): void {
  const holder = findUser(sql, 'username', username)
  if (holder !== null && holder.uuid !== uuid) throw conflict(`The username "${username}" is taken.`)
  sql.run('UPDATE users SET username = ? WHERE uuid = ?', username, uuid)
}

function disable(sql: Sql, { uuid, owner }: UserAccount): void {
  if (owner) throw ownerStays('disabled')
  sql.run('UPDATE users SET disabled_at = coalesce(disabled_at, ?) WHERE uuid = ?', Date.now(), uuid)
}

/** After the grace period, the data may be partly removed. A deletion can then not be canceled. */
function enable(sql: Sql, { uuid, deletionDue }: UserAccount): void {
  if (deletionDue !== null && deletionDue.getTime() <= Date.now()) {
    throw conflict(
      "The grace period is over: the removal of this user's data has begun or begins when the node has run for a day. It cannot be canceled any more.",
    )
  }
  sql.run('UPDATE users SET disabled_at = NULL, deletion_due = NULL WHERE uuid = ?', uuid)
}

function existing(sql: Sql, uuid: string): UserAccount {
  const user = findUser(sql, 'uuid', uuid)
  if (user === null) throw new NodekeepError('NOT_FOUND', 'There is no user with that uuid.')
  return user
}

function checkUsername(username: string): void {
  if (new RegExp(usernamePattern).test(username)) return
  throw invalid(
    'A username has 3 to 30 lower case letters, digits, dashes and underscores, and begins with a letter or digit.',
  )
}

/**
 * Returns a wallet address in EIP-55 form.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function walletOf(address: string): string {
  const wallet = parseWallet(address)
  if (wallet !== null) return wallet
  throw invalid(`"${address}" is not a wallet address. Write 0x and 40 hexadecimal digits (EIP-55).`)
}

function ownerStays(change: string): NodekeepError {
  return conflict(
    `The owner cannot be ${change}. Make another user the owner first: set "auth.owner" in the configuration to that user's wallet, and restart the node.`,
  )
}
