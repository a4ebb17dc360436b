import { test } from 'tap'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

test('a client at the port of a node on the gateway reaches the node', async (t) => {
  const gateway = await startGateway(t)
  const { node, log, status } = await startTunnelNode(t, gateway)
  const url = `http://127.0.0.1:${gateway.firstPort}`
  await log.line(/^Clients reach the node/)
  t.match(await status(), { connected: true, proxyEnabled: true, allocatedPort: gateway.firstPort })

  const near = await (await node.fetch('/health')).json()
  const far = await (await fetch(`${url}/health`)).json()
  t.match(far, { status: 'ok', database: (near as { database: string }).database })

  const ada = await node.signIn()
  const authorization = `Bearer ${ada.token}`
  const answer = (await (await fetch(`${url}/whoami`, { headers: { authorization } })).json()) as {
    user: { uuid: string }
  }
  t.equal(answer.user.uuid, ada.user.uuid)
})
