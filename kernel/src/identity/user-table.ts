import { randomUUID } from 'node:crypto'
import type { User } from '@nodekeep/plugin-sdk'
import type { Row, Sql } from '../state/sql.ts'

/** A user with what only the owner sees. */
export interface UserAccount extends User {
  readonly createdAt: Date
  readonly disabledAt: Date | null
  /** When the data of a deleted user is removed. */
  readonly deletionDue: Date | null
}

const columns = 'uuid, username, wallet, owner, created_at, disabled_at, deletion_due'

/** Which user: each of these belongs to one at most. */
export type UserKey = 'uuid' | 'username' | 'wallet'

export function findUser(sql: Sql, key: UserKey, value: string): UserAccount | null {
  return accountOrNull(sql.get(`SELECT ${columns} FROM users WHERE ${key} = ?`, value))
}

export function findOwner(sql: Sql): UserAccount | null {
  return accountOrNull(sql.get(`SELECT ${columns} FROM users WHERE owner = 1`))
}

/** Users by age, so many of them; those after another one where it is given. */
export function listUsers(sql: Sql, limit: number, after?: UserAccount): UserAccount[] {
  const statement = `SELECT ${columns} FROM users WHERE (created_at, uuid) > (?, ?) ORDER BY created_at, uuid LIMIT ?`
  return sql.all(statement, after?.createdAt.getTime() ?? -1, after?.uuid ?? '', limit).map(toAccount)
}

/**
 * Finds the user of a wallet, or makes one. It takes a transaction.
 *
 * @param wallet EIP-55 address
 * @param owner makes the user the owner, unless there is one: then the answer says `owner: false`. Who becomes the
 * owner is no longer disabled or to be deleted.
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
 * Makes the user of a wallet the only one who may be the owner, and the owner if there is such a user.
 *
 * @returns who was the owner until now and isn't any more
 */
export function appointOwner(sql: Sql, wallet: string): UserAccount | null {
  const before = sql.get(`SELECT ${columns} FROM users WHERE owner = 1 AND wallet <> ?`, wallet)
  sql.run('UPDATE users SET owner = NULL WHERE owner = 1 AND wallet <> ?', wallet)
  makeOwner(sql, wallet)
  return accountOrNull(before)
}

/** Makes the user of a wallet the owner, unless there is one. An owner cannot be disabled, so who was isn't any more. */
function makeOwner(sql: Sql, wallet: string): void {
  sql.run(
    'UPDATE users SET owner = 1, disabled_at = NULL, deletion_due = NULL WHERE wallet = ? AND NOT EXISTS (SELECT 1 FROM users WHERE owner = 1)',
    wallet,
  )
}

/** A short form of the address that nobody has yet: its first digits, as many as it takes. */
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
    disabledAt: dateOrNull(row.disabled_at),
    deletionDue: dateOrNull(row.deletion_due),
  }
}

function dateOrNull(value: Row[string] | undefined): Date | null {
  return value == null ? null : new Date(Number(value))
}
