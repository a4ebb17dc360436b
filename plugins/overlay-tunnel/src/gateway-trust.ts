import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import type { GatewayAddress } from './gateway-address.ts'

/** Knows the key of the gateway: from the configuration, or from the first time that the node met it. */
export class GatewayTrust {
  readonly #key: string
  readonly #configured: string | undefined
  readonly #state: StateStore
  readonly #log: Log
  #known: string | null = null

  private constructor(key: string, configured: string | undefined, state: StateStore, log: Log) {
    this.#key = key
    this.#configured = configured
    this.#state = state
    this.#log = log
  }

  /** @param configured the id in the configuration */
  static async load(
    { host, port }: GatewayAddress,
    configured: string | undefined,
    state: StateStore,
    log: Log,
  ): Promise<GatewayTrust> {
    const trust = new GatewayTrust(`gateway ${host}:${port}`, configured, state, log)
    trust.#known = configured ?? (await state.get<string>(trust.#key)) ?? null
    return trust
  }

  /** @throws Error with a sentence for people if the gateway is another one than before */
  check(id: string | null): string {
    if (id === null) throw new Error('The gateway shows no key of a node.')
    if (this.#known === null || id === this.#known) return id
    const expected = this.#configured === undefined ? 'at the first time' : 'in "overlay-tunnel.gatewayId"'
    throw new Error(
      `The gateway has the id ${id}, and not ${this.#known} as ${expected}. Another machine may stand between. If the gateway has a new identity, set "overlay-tunnel.gatewayId" to its id.`,
    )
  }

  /** Trusts the gateway with this id from now on, unless one is trusted already. */
  async trust(id: string): Promise<void> {
    if (this.#known !== null) return
    this.#known = id
    this.#log.warn(
      { gatewayId: id },
      `The node met its gateway for the first time, and trusts the id ${id} from now on. Compare it with the id that the gateway prints, or set "overlay-tunnel.gatewayId".`,
    )
    await this.#state.set(this.#key, id)
  }
}
