import { randomUUID } from 'node:crypto'
import type { User, UserDirectory } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Row, Sql } from '../state/sql.ts'

/** A user with what only the owner sees. */
export interface UserAccount extends User {
  readonly createdAt: Date
  readonly disabledAt: Date | null
  /** When the data of a deleted user is removed. */
  readonly deletionDue: Date | null
}

const columns = 'uuid, username, wallet, owner, created_at, disabled_at, deletion_due'

/** Users that are read at a time when all are listed. */
const pageSize = 500

/** The users of the node, in the kernel's own database. */
export class UserAccounts implements UserDirectory {
  readonly #database: StateDatabase

  constructor(database: StateDatabase) {
    this.#database = database
  }

  get(uuid: string): Promise<UserAccount | null> {
    return this.#findBy('uuid = ?', uuid)
  }

  findByWallet(wallet: string): Promise<UserAccount | null> {
    return this.#findBy('wallet = ?', wallet)
  }

  findByUsername(username: string): Promise<UserAccount | null> {
    return this.#findBy('username = ?', username)
  }

  owner(): Promise<UserAccount | null> {
    return this.#findBy('owner = 1')
  }

  async *list(): AsyncIterable<UserAccount> {
    let page: UserAccount[] = []
    do {
      const last = page.at(-1)
      page = await this.#database.use((sql) =>
        sql
          .all(
            `SELECT ${columns} FROM users WHERE (created_at, uuid) > (?, ?) ORDER BY created_at, uuid LIMIT ?`,
            last?.createdAt.getTime() ?? -1,
            last?.uuid ?? '',
            pageSize,
          )
          .map(toAccount),
      )
      yield* page
    } while (page.length === pageSize)
  }

  /**
   * Finds the user of a wallet, or makes one.
   *
   * @param wallet EIP-55 address
   * @param owner makes the user the owner, unless there is one: then the answer says `owner: false`. Who becomes the
   * owner is no longer disabled or to be deleted.
   */
  ensure(wallet: string, owner = false): Promise<UserAccount> {
    return this.#database.transaction((sql) => {
      if (sql.get('SELECT 1 FROM users WHERE wallet = ?', wallet) === undefined) {
        sql.run(
          'INSERT INTO users (uuid, username, wallet, created_at) VALUES (?, ?, ?, ?)',
          randomUUID(),
          freeUsername(sql, wallet),
          wallet,
          Date.now(),
        )
      }
      if (owner) makeOwner(sql, wallet)
      const row = sql.get(`SELECT ${columns} FROM users WHERE wallet = ?`, wallet)
      if (row === undefined) throw new Error('A user vanished within one transaction.')
      return toAccount(row)
    })
  }

  async #findBy(condition: string, ...values: string[]): Promise<UserAccount | null> {
    const row = await this.#database.use((sql) =>
      sql.get(`SELECT ${columns} FROM users WHERE ${condition}`, ...values),
    )
    return row === undefined ? null : toAccount(row)
  }
}

/** Makes the user of a wallet the owner, unless there is one. An owner can't be disabled, so who was isn't any more. */
function makeOwner(sql: Sql, wallet: string): void {
  sql.run(
    'UPDATE users SET owner = 1, disabled_at = NULL, deletion_due = NULL WHERE wallet = ? AND NOT EXISTS (SELECT 1 FROM users WHERE owner = 1)',
    wallet,
  )
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
  return before === undefined ? null : toAccount(before)
}

/** A short form of the address that nobody has yet: its first digits, as many as it takes. */
function freeUsername(sql: Sql, wallet: string): string {
  const isFree = (username: string) =>
    sql.get('SELECT 1 FROM users WHERE username = ?', username) === undefined
  for (let length = 10; length <= 30; length += 1) {
    const username = wallet.slice(0, length).toLowerCase()
    if (isFree(username)) return username
  }
  return randomUUID().replaceAll('-', '').slice(0, 30)
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
