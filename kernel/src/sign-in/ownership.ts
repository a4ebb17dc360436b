import { hash, timingSafeEqual } from 'node:crypto'
import { newTypedCode, readTypedCode } from '@nodekeep/plugin-sdk'
import { configuredWallet } from '../access/admission.ts'
import type { StateDatabase } from '../state/database.ts'
import type { Sql } from '../state/sql.ts'
import { appointOwner, findOwner, type UserAccount, type UserAccounts } from '../users/user-accounts.ts'

/** The ownership of a node, as {@link Ownership.establish} found it. */
interface EstablishedOwnership {
  readonly ownership: Ownership
  /**
   * A sentence for people when `auth.owner` has just made another user the owner. It also says how to take the account
   * along. Otherwise `null`.
   */
  readonly change: string | null
}

/** Knows the owner of the node, and how an unclaimed node gets one. */
export class Ownership {
  readonly #accounts: UserAccounts
  readonly #configured: string | null
  readonly #claimCode: ClaimCode | null

  private constructor(accounts: UserAccounts, configured: string | null, claimCode: ClaimCode | null) {
    this.#accounts = accounts
    this.#configured = configured
    this.#claimCode = claimCode
  }

  /**
   * Brings the recorded owner in line with `auth.owner`: a person who may write the configuration may decide who owns
   * the node. Without that key, the recorded owner stays the owner.
   */
  static async establish(
    database: StateDatabase,
    accounts: UserAccounts,
    configured: string | undefined,
  ): Promise<EstablishedOwnership> {
    if (configured !== undefined) {
      const wallet = configuredWallet(configured)
      const before = await database.transaction((sql) => appointOwner(sql, wallet))
      const change = before === null ? null : describeChange(before, wallet)
      return { ownership: new Ownership(accounts, wallet, null), change }
    }
    const claimCode = (await accounts.owner()) === null ? new ClaimCode() : null
    return { ownership: new Ownership(accounts, null, claimCode), change: null }
  }

  /** The code for the first sign-in; `null` when the node has an owner. */
  get claimCode(): string | null {
    return this.#claimCode?.text ?? null
  }

  /** Tells whether there is an owner, or at least a configured wallet of one. */
  isClaimed(sql: Sql): boolean {
    return this.#configured !== null || findOwner(sql) !== null
  }

  /** Tells whether the code claims the node now. */
  mayClaim(code: string): boolean {
    return this.#claimCode?.matches(code) ?? false
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
    this.#claimCode?.invalidate()
  }
}

/**
 * The code that lets the first user claim the node: only a person who can read the node's output knows it. It has the
 * form `XXXX-XXXX-XXXX` with 60 random bits. It exists in memory only; a node that is still unclaimed makes a new one at
 * its next start.
 */
export class ClaimCode {
  #code: string | null = newTypedCode()

  /** The code, or `null` once it was used. */
  get text(): string | null {
    return this.#code
  }

  /** Compares what a person typed, in constant time. */
  matches(candidate: string): boolean {
    return this.#code !== null && timingSafeEqual(digest(this.#code), digest(candidate))
  }

  invalidate(): void {
    this.#code = null
  }
}

function digest(code: string): Buffer {
  return hash('sha256', readTypedCode(code), 'buffer')
}

function describeChange({ username, wallet }: UserAccount, next: string): string {
  return `"auth.owner" made ${next} the owner. The user ${username} (${wallet}) is no longer the owner; their data stays with their account. If both wallets are yours, take the account along: nodekeep user set-wallet ${wallet} ${next} --swap`
}
