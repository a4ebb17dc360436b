import { once } from 'node:events'
import { request } from 'node:https'
import { json } from 'node:stream/consumers'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { acmePrograms, startAcmeServer } from './fixtures/acme-server.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const name = 'me.example.org'

test('a node obtains its certificate through a gateway that cannot read, and keeps it', {
  skip: needsPrograms(...acmePrograms),
}, async (t) => {
  const { dataFolder, nodeId } = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain: 'example.org', names: { me: nodeId } } })
  const authority = await startAcmeServer(t, gateway.httpsPort)
  const trusted = await authority.issuer()
  const { directory, ca } = authority
  for (const start of ['the first one', 'a later one']) {
    const { node, log, status } = await startTunnelNode(t, gateway, {
      dataFolder,
      tunnel: { name: `${name}:${gateway.httpsPort}` },
      config: { overlay: { acme: { termsAccepted: true, directory, ca } } },
    })
    await log.line(/^Clients reach the node at https:/)
    t.match(await status(), { connected: true }, start)
    const asked = request({
      host: '127.0.0.1',
      port: gateway.httpsPort,
      servername: name,
      path: '/health',
      ca: trusted,
      headers: { host: `${name}:${gateway.httpsPort}` },
    }).end()
    const [answer] = await once(asked, 'response')
    t.match(await json(answer), { status: 'ok' }, start)
    await node.stop()
  }
  t.equal(authority.orders, 1)
})
