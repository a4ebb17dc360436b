import {
  type ClientConnections,
  Connections,
  definePlugin,
  HealthChecks,
  type Log,
  NodeAddress,
  NodeIdentity,
  Overlay,
  type OverlayConnection,
  type OverlayNetworkStatus,
  PublicOrigins,
} from '@nodekeep/plugin-sdk'
import type { Certificates } from './certificates/certificates.ts'
import { configuration } from './configuration.ts'
import { OverlayOrigins } from './overlay-origins.ts'
import { addressProofRoute, statusRoute } from './routes.ts'

/** The plugin `overlay`: the node within a network through which clients reach it from outside. */
export default definePlugin({
  id: 'overlay',
  description: 'Makes the node reachable from outside, under a name of its own.',
  config: configuration,
  requires: { identity: NodeIdentity, address: NodeAddress, connections: Connections },
  optional: { network: Overlay },
  contributes: { origins: PublicOrigins, health: HealthChecks },
  async setup({ config, identity, address, connections, network, origins, health, ...context }) {
    const { state, log, signal, routes, onServing, onStop } = context
    const status = () => network?.status() ?? unconnected
    const overlayOrigins = new OverlayOrigins(origins)
    let endsTls = false
    if (network?.isConfigured === true) {
      // Loaded only here: most nodes have no network, and idle memory counts.
      const { createCertificates } = await import('./certificates/certificates.ts')
      const certificates = await createCertificates({ ...config, state, log })
      onStop(() => certificates.close())
      endsTls = certificates.endsTls
      health.add('overlay', {
        check() {
          const { ok, state, message } = certificates.health()
          const { connected, problem } = status()
          if (!ok) return { ok, state, ...(message !== null && { message }) }
          if (problem !== null) return { ok: false, state: problem, message: nameless }
          if (connected) return { ok: true, state: 'connected' }
          return { ok: false, state: 'unconnected', message: unreachable }
        },
      })
      let joined: Promise<void> = Promise.resolve()
      onServing(() => {
        const node = {
          endsTls,
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
        statusRoute(app, { identity, address, status, endsTls })
        if (network?.isConfigured === true) addressProofRoute(app, identity)
      },
      { prefix: '/api/overlay' },
    )
  },
})

const nameless =
  'The node does not get its name at the gateway, so nobody reaches it from outside. The log of the node has the reason.'

const unreachable =
  'The node is not reachable from outside: no connection through its gateway has succeeded yet. It keeps trying. If it stays so, look at the log of the node.'

const unconnected: OverlayNetworkStatus = {
  connected: false,
  proxyEnabled: false,
  allocatedPort: 0,
  origins: [],
  problem: null,
}

/** Returns the function that serves a client which came through the network. */
function serveClient(
  connections: ClientConnections,
  certificates: Pick<Certificates, 'accept'>,
  log: Log,
): (connection: OverlayConnection) => void {
  return ({ protocol, ...client }) => {
    client.socket.on('error', (err) => log.debug({ err }, 'The connection of a client failed.'))
    if (protocol === 'http') connections.serve(client)
    else void acceptTls({ protocol, ...client })
  }

  async function acceptTls(connection: OverlayConnection): Promise<void> {
    const client = await certificates.accept(connection)
    if (client !== null) connections.serve(client)
  }
}
