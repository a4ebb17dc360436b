import {
  Connections,
  definePlugin,
  HealthChecks,
  Identity,
  Overlay,
  type OverlayNetworkStatus,
  PublicOrigins,
} from '@nodekeep/plugin-sdk'
import { createCertificates } from './certificates/certificates.ts'
import { serveClient } from './clients.ts'
import { configuration } from './configuration.ts'
import { OverlayOrigins } from './overlay-origins.ts'
import { doorRoute, statusRoute } from './routes.ts'

/** The plugin `overlay`: the node within a network through which clients reach it from outside. */
export default definePlugin({
  id: 'overlay',
  description: 'Makes the node reachable from outside.',
  config: configuration,
  requires: { identity: Identity, connections: Connections },
  optional: { network: Overlay },
  contributes: { origins: PublicOrigins, health: HealthChecks },
  async setup({ config, identity, connections, network, origins, health, state, log, signal, ...context }) {
    const { nodeDataDir, routes, onServing, onStop } = context
    const status = () => network?.status() ?? unconnected
    const overlayOrigins = new OverlayOrigins(origins)
    if (network?.isConfigured === true) {
      const certificates = await createCertificates({ ...config, folder: nodeDataDir, state, log })
      onStop(() => certificates.close())
      health.add('overlay', {
        check() {
          const { ok, state } = certificates.health()
          const { connected } = status()
          return ok ? { ok: connected, state: connected ? 'connected' : 'unconnected' } : { ok, state }
        },
      })
      let joined: Promise<void> = Promise.resolve()
      onServing(() => {
        const node = {
          endsTls: certificates.endsTls,
          serve: serveClient(connections, certificates, log),
          statusChanged: () => {
            overlayOrigins.set(status().origins)
            certificates.names(overlayOrigins.names())
          },
        }
        joined = network.join(node, signal).catch((err: unknown) => {
          if (!signal.aborted) log.error({ err }, 'The node cannot join its network.')
        })
      })
      onStop(() => joined)
    }
    routes(
      (app) => {
        statusRoute(app, { identity, status })
        if (network?.isConfigured === true) doorRoute(app, identity)
      },
      { prefix: '/api/overlay' },
    )
  },
})

const unconnected: OverlayNetworkStatus = {
  connected: false,
  proxyEnabled: false,
  allocatedPort: 0,
  origins: [],
}
