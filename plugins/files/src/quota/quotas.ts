import type { StateStore } from '@nodekeep/plugin-sdk'

/** The quota of a user that the owner has set. */
interface StoredQuota {
  /** Null for none. */
  readonly bytes: number | null
}

/** How much each user may store: the quota of all users, and those that the owner has set for single ones. */
export class Quotas {
  /** Bytes of the quota of all others; null for none. */
  readonly default: number | null
  readonly #state: Pick<StateStore, 'set' | 'delete' | 'entries'>
  readonly #own = new Map<string, number | null>()

  /** @param bytes the quota of all users; null for none */
  constructor(bytes: number | null, state: Pick<StateStore, 'set' | 'delete' | 'entries'>) {
    this.default = bytes
    this.#state = state
  }

  /** Reads the quotas of single users. Call it before any other method. */
  async load(): Promise<void> {
    for await (const [key, value] of this.#state.entries<StoredQuota>())
      if (key.startsWith(keyOf(''))) this.#own.set(key.slice(keyOf('').length), value.bytes)
  }

  /** Bytes that a user may store; null for no limit. */
  of(userUuid: string): number | null {
    return this.#own.get(userUuid) ?? (this.hasOwn(userUuid) ? null : this.default)
  }

  /** Whether a user has another quota than all users. */
  hasOwn(userUuid: string): boolean {
    return this.#own.has(userUuid)
  }

  /** Sets the quota of a user; null for none. */
  async set(userUuid: string, bytes: number | null): Promise<void> {
    await this.#state.set(keyOf(userUuid), { bytes } satisfies StoredQuota)
    this.#own.set(userUuid, bytes)
  }

  /** Gives a user the quota of all users. */
  async reset(userUuid: string): Promise<void> {
    await this.#state.delete(keyOf(userUuid))
    this.#own.delete(userUuid)
  }
}

function keyOf(userUuid: string): string {
  return `quota:${userUuid}`
}
