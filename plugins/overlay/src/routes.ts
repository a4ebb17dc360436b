import {
  type NodeAddress,
  type NodeIdentity,
  type OverlayNetworkStatus,
  type RoutesApp,
  Type,
} from '@nodekeep/plugin-sdk'
import { addressStatement } from '@nodekeep/plugin-sdk/tunnel'

const Status = Type.Object({
  nodeId: Type.String({ description: "Base58 of the node's Ed25519 public key." }),
  did: Type.String({ description: '`did:overlay:<nodeId>`' }),
  connected: Type.Boolean({
    description:
      'Whether a connection from outside has reached the node through the network, and still would.',
  }),
  proxyEnabled: Type.Boolean({ description: 'Whether a gateway passes connections on to the node.' }),
  allocatedPort: Type.Integer({
    description: 'The port that the gateway allocated for the node; 0 without one.',
  }),
  addresses: Type.Array(Type.String(), {
    description:
      'The https addresses by which people reach the node from outside, through the network or as the configuration says.',
  }),
  endsTls: Type.Boolean({
    description: 'Whether TLS ends on the node. Then a gateway cannot read what it passes on.',
  }),
})

interface StatusServices {
  readonly identity: NodeIdentity
  readonly address: Pick<NodeAddress, 'publicOrigins'>
  readonly status: () => OverlayNetworkStatus
  readonly endsTls: boolean
}

const AddressProof = Type.Object({
  nodeId: Type.String({ description: "Base58 of the node's Ed25519 public key." }),
  signature: Type.String({
    description:
      'Signature of `nodekeep-address/1`, the nonce and the Host of the request, one a line, in base64url.',
  }),
})

/** The signatures for one client address in a minute. A gateway asks once a minute for each address of the node. */
const proofsPerMinute = 120

/** The route that tells how the node can be reached. */
export function statusRoute(app: RoutesApp, { identity, address, status, endsTls }: StatusServices): void {
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
    async () => {
      const { connected, proxyEnabled, allocatedPort } = status()
      const addresses = address.publicOrigins().filter((origin) => origin.startsWith('https:'))
      const { nodeId, did } = identity
      return { nodeId, did, connected, proxyEnabled, allocatedPort, addresses, endsTls }
    },
  )
}

/** The route by which a gateway finds out whether an address is one of this node. */
export function addressProofRoute(app: RoutesApp, identity: NodeIdentity): void {
  app.get(
    '/address-proof/:nonce',
    {
      config: {
        access: 'public',
        publicReason:
          'A gateway asks whether this node answers at its public address. The answer is a signature of the question.',
        rateLimit: { max: proofsPerMinute, timeWindow: 60_000 },
      },
      schema: {
        summary: 'Proves that this node stands behind an address.',
        operationId: 'getOverlayAddressProof',
        params: Type.Object({ nonce: Type.String({ pattern: '^[0-9a-f]{32}$' }) }),
        response: { 200: AddressProof },
      },
    },
    async ({ params, host }) => {
      const signature = identity.sign(addressStatement(params.nonce, host.toLowerCase()))
      return { nodeId: identity.nodeId, signature: Buffer.from(signature).toString('base64url') }
    },
  )
}
