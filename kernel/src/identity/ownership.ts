import type { StateDatabase } from '../state/database.ts'
import type { Sql } from '../state/sql.ts'
import { ClaimCode } from './claim-code.ts'
import { configuredWallet } from './configured-wallet.ts'
import type { UserAccounts } from './user-accounts.ts'
import { appointOwner, findOwner, type UserAccount } from './user-table.ts'

/** Who the owner is, and how an unclaimed node gets one. */
export class Ownership {
  readonly #accounts: UserAccounts
  readonly #configured: string | null
  readonly #claimCode: ClaimCode | null

  /** Says that `auth.owner` has just made another one the owner, and how the account is taken along; or `null`. */
  readonly change: string | null

  private constructor(
    accounts: UserAccounts,
    configured: string | null,
    claimCode: ClaimCode | null,
    change: string | null = null,
  ) {
    this.#accounts = accounts
    this.#configured = configured
    this.#claimCode = claimCode
    this.change = change
  }

  /**
   * Brings the recorded owner in line with `auth.owner`: who may write the configuration may say whose the node is.
   * Without that key, the recorded owner stays the owner.
   */
  static async establish(
    database: StateDatabase,
    accounts: UserAccounts,
    configured: string | undefined,
  ): Promise<Ownership> {
    if (configured !== undefined) {
      const wallet = configuredWallet(configured)
      const before = await database.transaction((sql) => appointOwner(sql, wallet))
      return new Ownership(accounts, wallet, null, before === null ? null : changed(before, wallet))
    }
    const owner = await accounts.owner()
    return new Ownership(accounts, null, owner === null ? new ClaimCode() : null)
  }

  /** The code for the first sign-in; `null` when the node has an owner. */
  get claimCode(): string | null {
    return this.#claimCode?.text ?? null
  }

  /** Whether there is an owner, or at least a wallet that is to be the owner's. */
  isClaimed(sql: Sql): boolean {
    return this.#configured !== null || findOwner(sql) !== null
  }

  /** Whether the code is the one for claiming the node now. */
  mayClaim(code: string): boolean {
    return this.#claimCode?.matches(code) ?? false
  }

  /**
   * Whether a wallet is the owner's by configuration, though it may never have signed in.
   *
   * @param wallet EIP-55 address
   */
  isConfiguredOwner(wallet: string): boolean {
    return this.#configured === wallet
  }

  /** Makes the user of the configured owner's wallet, if they never signed in. */
  async welcomeConfiguredOwner(): Promise<void> {
    if (this.#configured !== null) await this.#accounts.ensure(this.#configured, true)
  }

  /** Makes the claim code worthless: the node has an owner. */
  claimed(): void {
    this.#claimCode?.use()
  }
}

function changed({ username, wallet }: UserAccount, next: string): string {
  return `"auth.owner" made ${next} the owner, and the user ${username} (${wallet}) is it no more; their data stays with their account. If both wallets are yours, take the account along: nodekeep user set-wallet ${wallet} ${next} --swap`
}
