import { randomUUID } from 'node:crypto'
import type { User, UserDirectory } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Row, Sql } from '../state/sql.ts'

/** A user, with the fields that only the owner sees. */
export interface UserAccount extends User {
  readonly createdAt: Date
  /** When the user was added by hand. Such a user may sign in whatever `auth.admission` says. */
  readonly addedAt: Date | null
  readonly disabledAt: Date | null
  /** When the data of a deleted user is removed. */
  readonly deletionDue: Date | null
}

const columns = 'uuid, username, wallet, owner, created_at, added_at, disabled_at, deletion_due'

/** Users that are read at a time when all are listed. */
const pageSize = 500

/** The users of the node, in the kernel's own database. */
export class UserAccounts implements UserDirectory {
  readonly #database: StateDatabase

  constructor(database: StateDatabase) {
    this.#database = database
  }

  get(uuid: string): Promise<UserAccount | null> {
    return this.#database.use((sql) => findUser(sql, 'uuid', uuid))
  }

  findByWallet(wallet: string): Promise<UserAccount | null> {
    return this.#database.use((sql) => findUser(sql, 'wallet', wallet))
  }

  findByUsername(username: string): Promise<UserAccount | null> {
    return this.#database.use((sql) => findUser(sql, 'username', username))
  }

  owner(): Promise<UserAccount | null> {
    return this.#database.use(findOwner)
  }

  async *list(): AsyncIterable<UserAccount> {
    let page: UserAccount[] = []
    do {
      const last = page.at(-1)
      page = await this.#database.use((sql) => listUsers(sql, pageSize, last))
      yield* page
    } while (page.length === pageSize)
  }

  /** The last sign-in of each user, or the last use of a session or API token that has not ended, by uuid. */
  async lastSeen(): Promise<ReadonlyMap<string, Date>> {
    const statement = `
      SELECT user_uuid, max(seen_at) AS seen_at FROM (
        SELECT user_uuid, last_at AS seen_at FROM logins UNION ALL SELECT user_uuid, last_used_at FROM sessions
      ) GROUP BY user_uuid`
    const rows = await this.#database.use((sql) => sql.all(statement))
    return new Map(rows.map((row) => [String(row.user_uuid), new Date(Number(row.seen_at))]))
  }

  /** Finds the user of a wallet, or makes one, as {@link ensureUser} does. */
  ensure(wallet: string, owner = false): Promise<UserAccount> {
    return this.#database.transaction((sql) => ensureUser(sql, wallet, owner))
  }
}

/** Finds a user by a field that is unique to one user. */
export function findUser(sql: Sql, field: 'uuid' | 'username' | 'wallet', value: string): UserAccount | null {
  return accountOrNull(sql.get(`SELECT ${columns} FROM users WHERE ${field} = ?`, value))
}

export function findOwner(sql: Sql): UserAccount | null {
  return accountOrNull(sql.get(`SELECT ${columns} FROM users WHERE owner = 1`))
}

/** Lists users by age: at most `limit`, and only those after a given user if there is one. */
function listUsers(sql: Sql, limit: number, after?: UserAccount): UserAccount[] {
  const statement = `SELECT ${columns} FROM users WHERE (created_at, uuid) > (?, ?) ORDER BY created_at, uuid LIMIT ?`
  return sql.all(statement, after?.createdAt.getTime() ?? -1, after?.uuid ?? '', limit).map(toAccount)
}

/**
 * Finds the user of a wallet, or makes one. Call it in a transaction.
 *
 * @param wallet EIP-55 address
 * @param owner makes the user the owner, unless the node has one: then the result says `owner: false`. A new owner is
 * no longer disabled or marked for deletion.
 */
export function ensureUser(sql: Sql, wallet: string, owner = false): UserAccount {
  if (findUser(sql, 'wallet', wallet) === null) {
    sql.run(
      'INSERT INTO users (uuid, username, wallet, created_at) VALUES (?, ?, ?, ?)',
      randomUUID(),
      freeUsername(sql, wallet),
      wallet,
      Date.now(),
    )
  }
  if (owner) makeOwner(sql, wallet)
  const user = findUser(sql, 'wallet', wallet)
  if (user === null) throw new Error('A user vanished within one transaction.')
  return user
}

/**
 * Ends the ownership of all other users, and makes the user of a wallet the owner if there is such a user.
 *
 * @returns the user who was the owner until now and no longer is, or `null`
 */
export function appointOwner(sql: Sql, wallet: string): UserAccount | null {
  const before = sql.get(`SELECT ${columns} FROM users WHERE owner = 1 AND wallet <> ?`, wallet)
  sql.run('UPDATE users SET owner = NULL WHERE owner = 1 AND wallet <> ?', wallet)
  makeOwner(sql, wallet)
  return accountOrNull(before)
}

/** Makes the user of a wallet the owner, unless the node has one. An owner cannot be disabled, so that ends too. */
function makeOwner(sql: Sql, wallet: string): void {
  sql.run(
    'UPDATE users SET owner = 1, disabled_at = NULL, deletion_due = NULL WHERE wallet = ? AND NOT EXISTS (SELECT 1 FROM users WHERE owner = 1)',
    wallet,
  )
}

/** Returns the shortest beginning of the address, of at least ten characters, that is not a username yet. */
function freeUsername(sql: Sql, wallet: string): string {
  for (let length = 10; length <= 30; length += 1) {
    const username = wallet.slice(0, length).toLowerCase()
    if (findUser(sql, 'username', username) === null) return username
  }
  return randomUUID().replaceAll('-', '').slice(0, 30)
}

function accountOrNull(row: Row | undefined): UserAccount | null {
  return row === undefined ? null : toAccount(row)
}

function toAccount(row: Row): UserAccount {
  return {
    uuid: String(row.uuid),
    username: String(row.username),
    wallet: String(row.wallet),
    owner: row.owner === 1,
    createdAt: new Date(Number(row.created_at)),
    addedAt: dateOrNull(row.added_at),
    disabledAt: dateOrNull(row.disabled_at),
    deletionDue: dateOrNull(row.deletion_due),
  }
}

function dateOrNull(value: Row[string] | undefined): Date | null {
  return value == null ? null : new Date(Number(value))
}
