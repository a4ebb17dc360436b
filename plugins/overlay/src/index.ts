import { definePlugin, Identity, Overlay, Type } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'

const Status = Type.Object({
  nodeId: Type.String({ description: "Base58 of the node's Ed25519 public key." }),
  did: Type.String({ description: '`did:overlay:<nodeId>`' }),
  connected: Type.Boolean({ description: 'Whether clients can reach the node through the network.' }),
  proxyEnabled: Type.Boolean({ description: 'Whether a gateway passes connections on to the node.' }),
  allocatedPort: Type.Integer({
    description: 'The port that the gateway allocated for the node; 0 without one.',
  }),
})

/** The plugin `overlay`: the node within a network through which clients reach it from outside. */
export default definePlugin({
  id: 'overlay',
  description: 'Makes the node reachable from outside.',
  config: configuration,
  requires: { identity: Identity },
  optional: { network: Overlay },
  setup({ identity, network, routes }) {
    routes(
      (app) => {
        app.get(
          '/status',
          {
            config: { scope: 'overlay' },
            schema: {
              summary: 'Tells how the node can be reached from outside.',
              operationId: 'getOverlayStatus',
              response: { 200: Status },
            },
          },
          async () => ({
            nodeId: identity.nodeId,
            did: identity.did,
            connected: network?.status().connected ?? false,
            proxyEnabled: network?.status().proxyEnabled ?? false,
            allocatedPort: network?.status().allocatedPort ?? 0,
          }),
        )
      },
      { prefix: '/api/overlay' },
    )
  },
})
