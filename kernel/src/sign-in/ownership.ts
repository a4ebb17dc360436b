import { hash, timingSafeEqual } from 'node:crypto'
import { newTypedCode, readTypedCode } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from '../state/database.ts'
import type { Sql } from '../state/sql.ts'
import { appointOwner, findOwner, type UserAccount, type UserAccounts } from '../users/user-accounts.ts'
import { walletOf } from '../users/user-administration.ts'

/** Knows the owner of the node, and how an unclaimed node gets one. */
export class Ownership {
  readonly #accounts: UserAccounts
  readonly #configured: string | null
  /**
   * A sentence for people when `auth.owner` has just made another user the owner. It also says how to take the account
   * along. Otherwise `null`.
   */
  readonly change: string | null
  #claimCode: string | null

  private constructor(
    accounts: UserAccounts,
    configured: string | null,
    claimCode: string | null,
    change: string | null,
  ) {
    this.#accounts = accounts
    this.#configured = configured
    this.#claimCode = claimCode
    this.change = change
  }

  /**
   * Brings the recorded owner in line with `auth.owner`: a person who may write the configuration may decide who owns
   * the node. Without that key, the recorded owner stays the owner.
   */
  static async establish(
    database: StateDatabase,
    accounts: UserAccounts,
    configured: string | undefined,
  ): Promise<Ownership> {
    if (configured !== undefined) {
      const wallet = walletOf(configured)
      const before = await database.transaction((sql) => appointOwner(sql, wallet))
      return new Ownership(accounts, wallet, null, before === null ? null : describeChange(before, wallet))
    }
    const claimCode = (await accounts.owner()) === null ? newTypedCode() : null
    return new Ownership(accounts, null, claimCode, null)
  }

  /**
   * The code that lets the first user claim the node: only a person who can read the node's output knows it. It has the
   * form `XXXX-XXXX-XXXX` with 60 random bits. It exists in memory only; a node that is still unclaimed makes a new one at
   * its next start. `null` when the node has an owner.
   */
  get claimCode(): string | null {
    return this.#claimCode
  }

  /** Tells whether there is an owner, or at least a configured wallet of one. */
  isClaimed(sql: Sql): boolean {
    return this.#configured !== null || findOwner(sql) !== null
  }

  /** Tells whether a text that a person typed claims the node now. It compares in constant time. */
  mayClaim(code: string): boolean {
    return this.#claimCode !== null && timingSafeEqual(digest(this.#claimCode), digest(code))
  }

  /**
   * Tells whether the configuration names a wallet as the owner's. Its user may never have signed in.
   *
   * @param wallet EIP-55 address
   */
  isConfiguredOwner(wallet: string): boolean {
    return this.#configured === wallet
  }

  /** Makes the user of the configured owner's wallet, if they have never signed in. */
  async ensureConfiguredOwner(): Promise<void> {
    if (this.#configured !== null) await this.#accounts.ensure(this.#configured, true)
  }

  /** Invalidates the claim code: the node has an owner. */
  claimed(): void {
    this.#claimCode = null
  }
}

function digest(code: string): Buffer {
  return hash('sha256', readTypedCode(code), 'buffer')
}

function describeChange({ username, wallet }: UserAccount, next: string): string {
  return `"auth.owner" made ${next} the owner. The user ${username} (${wallet}) is no longer the owner; their data stays with their account. If both wallets are yours, take the account along: nodekeep user set-wallet ${wallet} ${next} --swap`
}
