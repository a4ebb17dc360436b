import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import type { GatewayAddress } from './gateway-address.ts'

interface GatewayTrustParts {
  readonly address: GatewayAddress
  /** The id in the configuration. */
  readonly configured: string | undefined
  readonly state: StateStore
  readonly log: Log
}

/** Knows the key of the gateway: from the configuration, or from the first time that the node met it. */
export class GatewayTrust {
  readonly #parts: GatewayTrustParts
  readonly #key: string
  #known: string | null

  private constructor(parts: GatewayTrustParts, key: string, known: string | null) {
    this.#parts = parts
    this.#key = key
    this.#known = known
  }

  static async load(parts: GatewayTrustParts): Promise<GatewayTrust> {
    const key = `gateway ${parts.address.host}:${parts.address.port}`
    const known = parts.configured ?? (await parts.state.get<string>(key)) ?? null
    return new GatewayTrust(parts, key, known)
  }

  /** @throws Error with a sentence for people if the gateway is another one than before */
  check(id: string | null): string {
    if (id === null) throw new Error('The gateway shows no key of a node.')
    if (this.#known === null || id === this.#known) return id
    const { configured } = this.#parts
    const expected = configured === undefined ? 'at the first time' : 'in "overlay-tunnel.gatewayId"'
    throw new Error(
      `The gateway has the id ${id}, and not ${this.#known} as ${expected}. Another machine may stand between. If the gateway has a new identity, set "overlay-tunnel.gatewayId" to its id.`,
    )
  }

  /** Trusts the gateway with this id from now on, unless one is trusted already. */
  async trust(id: string): Promise<void> {
    if (this.#known !== null) return
    this.#known = id
    this.#parts.log.warn(
      { gatewayId: id },
      `The node met its gateway for the first time, and trusts the id ${id} from now on. Compare it with the id that the gateway prints, or set "overlay-tunnel.gatewayId".`,
    )
    await this.#parts.state.set(this.#key, id)
  }
}
