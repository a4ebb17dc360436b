import type { User } from '@nodekeep/plugin-sdk'
import { configuredWallet } from './configured-wallet.ts'

/** The configuration section `auth`, as far as it says who may sign in. */
export interface AdmissionPolicy {
  readonly admission: 'owner' | 'allowlist' | 'open'
  readonly allowlist: readonly string[]
}

/** Tells who may use the node: asked at each sign-in, and again whenever a session is looked up. */
export class Admission {
  readonly #policy: AdmissionPolicy['admission']
  readonly #allowed: ReadonlySet<string>

  constructor({ admission, allowlist }: AdmissionPolicy) {
    this.#policy = admission
    this.#allowed = new Set(allowlist.map(configuredWallet))
  }

  admits({ owner, wallet }: Pick<User, 'owner' | 'wallet'>): boolean {
    if (owner || this.#policy === 'open') return true
    return this.#policy === 'allowlist' && this.#allowed.has(wallet)
  }
}
