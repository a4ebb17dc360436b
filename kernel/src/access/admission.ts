import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import type { UserAccount } from '../users/user-accounts.ts'
import { walletOf } from '../users/user-administration.ts'

/** The part of the configuration that says who may sign in. */
type AdmissionPolicy = Pick<KernelConfiguration['auth'], 'admission' | 'allowlist'>

/** Decides who may use the node: at each sign-in, and again whenever a session is looked up. */
export class Admission {
  readonly #policy: AdmissionPolicy['admission']
  readonly #allowed: ReadonlySet<string>

  constructor({ admission, allowlist }: AdmissionPolicy) {
    this.#policy = admission
    this.#allowed = new Set(allowlist.map(walletOf))
  }

  /** A user who was added by hand is always admitted. */
  admits({ owner, wallet, addedAt }: Pick<UserAccount, 'owner' | 'wallet' | 'addedAt'>): boolean {
    if (owner || addedAt !== null || this.#policy === 'open') return true
    return this.#policy === 'allowlist' && this.#allowed.has(wallet)
  }
}
