import type { UserDirectory } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import { ensureUser, findOwner, findUser, listUsers, type UserAccount } from './user-table.ts'

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

  /** Finds the user of a wallet, or makes one, as {@link ensureUser} does. */
  ensure(wallet: string, owner = false): Promise<UserAccount> {
    return this.#database.transaction((sql) => ensureUser(sql, wallet, owner))
  }
}
