import { generateKeyPairSync } from 'node:crypto'
import type { StateStore } from '@nodekeep/plugin-sdk'
import type { CertificatePair } from '@nodekeep/plugin-sdk/server-tls'

/** The certificate of a name, and the orders since. */
export interface StoredName {
  readonly directory: string
  readonly name: string
  readonly pair: CertificatePair | null
  /** When the last order began, in milliseconds since 1970. */
  readonly orderedAt: number
  /** Orders in a row that failed. An order counts from its start, so that one counts that a crash cut short. */
  readonly failures: number
  /** The reason why the last order failed, in a sentence; `null` if it did not. */
  readonly reason: string | null
  /** No order begins before this time, in milliseconds since 1970. */
  readonly notBefore: number
}

const prefix = 'acme name '

/**
 * The node's account at an authority, and the names that it certified. All is in the state of the plugin, which is durable and in
 * backups: so a restored node orders no certificate again.
 */
export class StoredNames {
  readonly #state: StateStore
  readonly #directory: string

  /** @param directory the address of the authority: another one has other accounts and certificates */
  constructor(state: StateStore, directory: string) {
    this.#state = state
    this.#directory = directory
  }

  /** Returns the private key of the account, as PEM. It is made at the first use. The authority finds the account by it. */
  async accountKey(): Promise<string> {
    const known = await this.#state.get<string>(this.#accountEntry)
    if (known !== undefined) return known
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    await this.#state.set(this.#accountEntry, privateKey)
    return privateKey
  }

  /** The next order has another account. */
  async forgetAccount(): Promise<void> {
    await this.#state.delete(this.#accountEntry)
  }

  async all(): Promise<StoredName[]> {
    const found: StoredName[] = []
    for await (const [entry, stored] of this.#state.entries<StoredName>()) {
      if (entry.startsWith(prefix) && stored.directory === this.#directory) found.push(stored)
    }
    return found
  }

  async store(stored: StoredName): Promise<void> {
    await this.#state.set(`${prefix}${stored.name} ${stored.directory}`, stored)
  }

  get #accountEntry(): string {
    return `acme account ${this.#directory}`
  }
}
