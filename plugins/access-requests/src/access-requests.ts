import { Mutex, NodekeepError, type StateStore } from '@nodekeep/plugin-sdk'

/** Open requests of a node. Wallets cost nothing, so one person can send many. */
const maxOpen = 50

/** How long a request waits for the owner. */
const expiryMs = 30 * 24 * 60 * 60 * 1000

/** The request of a person to be admitted. */
interface AccessRequest {
  /** The proven wallet, as an EIP-55 address. */
  readonly wallet: string
  /** The name that the person wants. Nothing proves it. */
  readonly username: string
  readonly requestedAt: Date
}

interface Stored {
  readonly username: string
  /** Milliseconds since the epoch. */
  readonly requestedAt: number
}

/** The open requests, one for each wallet. They are in the plugin's state, so they outlive a restart. */
export class AccessRequests {
  readonly #state: StateStore
  /** Requests are stored one after the other. Otherwise the bound would not hold. */
  readonly #adding = new Mutex()

  constructor(state: StateStore) {
    this.#state = state
  }

  /** Returns the open requests, the oldest one first. */
  async list(): Promise<AccessRequest[]> {
    const found: AccessRequest[] = []
    for await (const [wallet, { username, requestedAt }] of this.#state.entries<Stored>()) {
      found.push({ wallet, username, requestedAt: new Date(requestedAt) })
    }
    return found.sort((one, other) => one.requestedAt.getTime() - other.requestedAt.getTime())
  }

  /**
   * Stores a request. It takes the place of the former one of the same wallet.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS if the node has as many open requests as it takes
   */
  add(wallet: string, username: string): Promise<void> {
    return this.#adding.run(async () => {
      const others = (await this.list()).filter((request) => request.wallet !== wallet)
      if (others.length >= maxOpen) {
        throw new NodekeepError(
          'TOO_MANY_REQUESTS',
          'This node takes no further requests now. Tell its owner your address in another way.',
        )
      }
      const stored: Stored = { username, requestedAt: Date.now() }
      await this.#state.set(wallet, stored, expiryMs)
    })
  }

  /** Removes the request of a wallet. Resolves with whether there was one. */
  remove(wallet: string): Promise<boolean> {
    return this.#state.delete(wallet)
  }
}
