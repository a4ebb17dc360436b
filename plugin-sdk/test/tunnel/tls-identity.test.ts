import { once } from 'node:events'
import { connect, createServer, type TLSSocket } from 'node:tls'
import {
  addressStatement,
  isSignedBy,
  nodeIdOf,
  tunnelProtocol,
  tunnelTls,
} from '@nodekeep/plugin-sdk/tunnel'
import { test } from 'tap'
import { gateway, node, signAs } from './fixtures/identities.ts'

test('both sides know each other by their keys', async (t) => {
  const server = createServer(await tunnelTls(gateway)).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const accepting = once(server, 'secureConnection')
  const outgoing = connect({ host: '127.0.0.1', port, ...(await tunnelTls(node)) })
  t.teardown(() => outgoing.destroy())
  const [incoming] = (await accepting) as [TLSSocket]
  t.teardown(() => incoming.destroy())
  t.equal(nodeIdOf(incoming), node.nodeId)
  t.equal(nodeIdOf(outgoing), gateway.nodeId)
  t.equal(incoming.getProtocol(), 'TLSv1.3')
  t.equal(incoming.alpnProtocol, tunnelProtocol)
})

test('a client without a certificate, of another protocol or with an older TLS has no id', async (t) => {
  const server = createServer(await tunnelTls(gateway)).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => {})
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const options = { host: '127.0.0.1', port, rejectUnauthorized: false }

  const accepting = once(server, 'secureConnection')
  const nameless = connect({ ...options, ALPNProtocols: [tunnelProtocol] })
  const [incoming] = (await accepting) as [TLSSocket]
  t.equal(nodeIdOf(incoming), null)
  nameless.destroy()
  incoming.destroy()

  for (const wrong of [{ ALPNProtocols: ['http/1.1'] }, { maxVersion: 'TLSv1.2' as const }]) {
    const refused = connect({ ...options, ...wrong })
    await t.rejects(once(refused, 'secureConnect'))
    refused.destroy()
  }
})

test('the statement about an address holds for one node, one nonce and one host', async (t) => {
  const statement = addressStatement('5a'.repeat(16), 'me.example.org')
  const signature = signAs(node, statement)
  t.ok(isSignedBy(node.nodeId, statement, signature))
  t.notOk(isSignedBy(gateway.nodeId, statement, signature))
  t.notOk(isSignedBy(node.nodeId, addressStatement('5b'.repeat(16), 'me.example.org'), signature))
  t.notOk(isSignedBy(node.nodeId, addressStatement('5a'.repeat(16), 'you.example.org'), signature))
  for (const id of ['', '0', 'z'.repeat(44), node.nodeId.slice(1)])
    t.notOk(isSignedBy(id, statement, signature))
  t.notOk(isSignedBy(node.nodeId, statement, signature.subarray(1)))
})
