import { randomUUID } from 'node:crypto'
import type { User, UserDirectory } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Row, Sql } from '../state/sql.ts'

const columns = 'uuid, username, wallet, owner'

/** The users of the node, in the kernel's own database. */
export class UserAccounts implements UserDirectory {
  readonly #database: StateDatabase

  constructor(database: StateDatabase) {
    this.#database = database
  }

  get(uuid: string): Promise<User | null> {
    return this.#findBy('uuid = ?', uuid)
  }

  findByWallet(wallet: string): Promise<User | null> {
    return this.#findBy('wallet = ?', wallet)
  }

  findByUsername(username: string): Promise<User | null> {
    return this.#findBy('username = ?', username)
  }

  owner(): Promise<User | null> {
    return this.#findBy('owner = 1')
  }

  /** The user, unless disabled. */
  enabled(uuid: string): Promise<User | null> {
    return this.#findBy('disabled_at IS NULL AND uuid = ?', uuid)
  }

  async *list(): AsyncIterable<User> {
    const users = await this.#database.use((sql) =>
      sql.all(`SELECT ${columns} FROM users ORDER BY created_at, uuid`).map(toUser),
    )
    yield* users
  }

  /**
   * Makes a user for a wallet, or finds the one that has it.
   *
   * @param wallet EIP-55 address
   * @param owner makes the user the owner; it fails when there is another one
   */
  ensure(wallet: string, owner = false): Promise<User> {
    return this.#database.transaction((sql) => {
      const known = sql.get(`SELECT ${columns} FROM users WHERE wallet = ?`, wallet)
      if (known !== undefined) return toUser(known)
      const user: User = { uuid: randomUUID(), username: freeUsername(sql, wallet), wallet, owner }
      sql.run(
        'INSERT INTO users (uuid, username, wallet, owner, created_at) VALUES (?, ?, ?, ?, ?)',
        user.uuid,
        user.username,
        wallet,
        owner ? 1 : null,
        Date.now(),
      )
      return user
    })
  }

  async #findBy(condition: string, ...values: string[]): Promise<User | null> {
    const row = await this.#database.use((sql) =>
      sql.get(`SELECT ${columns} FROM users WHERE ${condition}`, ...values),
    )
    return row === undefined ? null : toUser(row)
  }
}

/** A short form of the address that nobody has yet: its first digits, as many as it takes. */
function freeUsername(sql: Sql, wallet: string): string {
  const isFree = (username: string) =>
    sql.get('SELECT 1 FROM users WHERE username = ?', username) === undefined
  for (let length = 10; length < 30; length += 1) {
    const username = wallet.slice(0, length).toLowerCase()
    if (isFree(username)) return username
  }
  return randomUUID().replaceAll('-', '').slice(0, 30)
}

function toUser(row: Row): User {
  return {
    uuid: String(row.uuid),
    username: String(row.username),
    wallet: String(row.wallet),
    owner: row.owner === 1,
  }
}
