import { overlayConformance } from '@nodekeep/plugin-sdk/conformance/overlay'
import { test } from 'tap'
import { startIdentityNode } from './fixtures/identity-node.ts'
import { ScriptedGateway, serverName } from './fixtures/scripted-gateway.ts'
import { startTunnel } from './fixtures/tunnel-subject.ts'

overlayConformance(test, {
  async setUp() {
    const lender = await startIdentityNode()
    const gateway = await ScriptedGateway.start(lender.identity)
    const { node, network } = await startTunnel({ gateway: `127.0.0.1:${gateway.port}` })
    return {
      network,
      connect: async () => ({ socket: await gateway.client(), address: '127.0.0.1' }),
      connectFromElsewhere: async () => ({
        socket: await gateway.client('127.0.0.2'),
        address: '127.0.0.2',
      }),
      tls: {
        serverName,
        connect: async () => ({ socket: await gateway.tlsClient(), address: '127.0.0.1' }),
      },
      interrupt: async () => gateway.cut(),
      async close() {
        await node.stop()
        gateway.close()
        await lender.node.stop()
      },
    }
  },
})
