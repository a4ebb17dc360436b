import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log, OverlayNetwork, OverlayNetworkStatus, OverlayNode } from '@nodekeep/plugin-sdk'
import type { TunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import type { GatewayAddress } from './gateway-address.ts'
import { GatewaySession } from './gateway-session.ts'
import type { GatewayTrust } from './gateway-trust.ts'
import type { NameRegistration } from './name-registration.ts'
import type { OwnName } from './own-name.ts'
import { RepeatedFailure } from './repeated-failure.ts'
import { retryDelay } from './retry-delay.ts'

interface TunnelNetworkServices {
  readonly address: GatewayAddress
  readonly trust: GatewayTrust
  readonly tls: () => Promise<TunnelTls>
  /** The name in the configuration. */
  readonly name: OwnName | null
  readonly registration: NameRegistration
  readonly maxConnections: number
  readonly log: Log
}

/** A session that ended sooner did not help anybody. The next attempt waits like the one after a failure. */
const usefulMs = 10_000

/** The network of a gateway: the node keeps one session with it, and begins another one after each loss. */
export class TunnelNetwork implements OverlayNetwork {
  readonly isConfigured = true
  readonly #services: TunnelNetworkServices
  /** Names this process for the gateway, which lets only one process of a node in. */
  readonly #instance = randomBytes(16).toString('hex')
  #session: GatewaySession | null = null

  constructor(services: TunnelNetworkServices) {
    this.#services = services
  }

  status(): OverlayNetworkStatus {
    const session = this.#session
    return {
      connected: session?.isConnected ?? false,
      proxyEnabled: true,
      allocatedPort: session?.port ?? 0,
      origins: session?.urls ?? [],
      problem: session?.wasWelcome === true ? this.#services.registration.problem : null,
    }
  }

  async join(node: OverlayNode, signal: AbortSignal): Promise<void> {
    const { address, trust, name, registration, log, maxConnections } = this.#services
    const tls = await this.#services.tls()
    const route = { address, tls, checkId: (id: string | null) => trust.check(id) }
    const repeated = new RepeatedFailure(log)
    let lostAt = performance.now()
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const beganAt = performance.now()
      const over = new AbortController()
      let naming: Promise<void> | undefined
      const onChange = () => node.statusChanged()
      const session = new GatewaySession({
        route,
        node,
        name,
        instance: this.#instance,
        maxConnections,
        log,
        onWelcome: (id) => {
          repeated.over()
          trust.trust(id).catch((err: unknown) => {
            log.error({ err }, 'The id of the gateway could not be stored. The next start meets it anew.')
          })
          const isForwarded = name !== null && session.urls.includes(name.origin)
          naming = registration.ensureName({ route, gatewayId: id, isForwarded, onChange }, over.signal)
        },
        onChange,
      })
      this.#session = session
      const end = await session.run(signal)
      over.abort()
      await naming
      this.#session = null
      if (session.wasWelcome) node.statusChanged()
      if (signal.aborted) break
      if (session.wasWelcome && performance.now() - beganAt > usefulMs) {
        lostAt = performance.now()
        attempt = -1
      }
      const now = performance.now()
      const { isUnreachable = false } = end
      const failed = { isUnreachable, count: attempt + 1, tookMs: now - beganAt, sinceMs: now - lostAt }
      const retryMs = Math.max(retryDelay(failed), end.retryMs)
      repeated.note(end.reason, retryMs)
      await delay(retryMs, undefined, { signal }).catch(() => {})
    }
  }
}
