import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, HealthChecks, PublicOrigins, type RegistryReader } from '@nodekeep/plugin-sdk'
import { addressStatement, isSignedBy } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import overlay from '../src/index.ts'
import { fakeNetwork } from './fixtures/fake-network.ts'

async function start(t: Test) {
  const network = fakeNetwork()
  const { promise, resolve } = Promise.withResolvers<{
    origins: RegistryReader<string>
    health: RegistryReader<{ check(signal: AbortSignal): unknown }>
  }>()
  const reader = definePlugin({
    id: 'reader',
    requires: { origins: PublicOrigins, health: HealthChecks },
    setup: ({ origins, health }) => resolve({ origins, health }),
  })
  const node = await createTestNode({ plugins: [overlay, network.plugin, reader] })
  t.teardown(() => node.stop())
  return { network, node, ...(await promise) }
}

/** Two ends of a TCP connection. */
async function pair(t: Test): Promise<[near: Socket, far: Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => near.destroy())
  return [near, far]
}

test('the status is that of the network', async (t) => {
  const { network, node } = await start(t)
  network.change({ connected: true, allocatedPort: 20_017, origins: ['https://me.example.org'] })
  const ada = await node.signIn()
  const status = (await (await ada.fetch('/api/overlay/status')).json()) as Record<string, unknown>
  t.same(Object.keys(status), [
    'nodeId',
    'did',
    'connected',
    'proxyEnabled',
    'allocatedPort',
    'addresses',
    'endsTls',
  ])
  const addresses = ['https://me.example.org']
  t.match(status, { connected: true, proxyEnabled: true, allocatedPort: 20_017, addresses, endsTls: false })
})

test('https addresses are origins of the node while the network forwards to it', async (t) => {
  const { network, origins } = await start(t)
  const all = () => [...origins].map(([, origin]) => origin).sort()
  network.change({ origins: ['https://me.example.org', 'http://gateway.example.org:20017'] })
  t.same(all(), ['https://me.example.org'], 'and not those of plain HTTP')
  network.change({ origins: ['https://me.example.org', 'https://us.example.org:8443'] })
  t.same(all(), ['https://me.example.org', 'https://us.example.org:8443'])
  network.change({ origins: ['https://us.example.org:8443'] })
  t.same(all(), ['https://us.example.org:8443'])
  network.change({ origins: [] })
  t.same(all(), [])
})

test('the health report tells whether the node is connected', async (t) => {
  const { network, health } = await start(t)
  const check = () => health.get('overlay')?.check(new AbortController().signal)
  t.match(check(), { ok: false, state: 'unconnected', message: /not reachable from outside/ })
  network.change({ connected: true })
  t.same(check(), { ok: true, state: 'connected' })
  network.change({ problem: 'name-taken' })
  t.match(check(), { ok: false, state: 'name-taken', message: /does not get its name/ })
})

test('a client that the network brings is served, with its own address', async (t) => {
  const { network } = await start(t)
  const [near, far] = await pair(t)
  network.node.serve({
    socket: far,
    remoteAddress: '192.0.2.7',
    remotePort: 50_000,
    protocol: 'http',
    encrypted: false,
    serverName: null,
  })
  near.write('GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  t.match(await text(near), /^HTTP\/1\.1 200 .*"database":"connected"/s)
})

test('a node without a certificate closes a connection of TLS', async (t) => {
  const { network } = await start(t)
  t.equal(network.node.endsTls, false)
  const [near, far] = await pair(t)
  const closed = once(near.resume(), 'close')
  network.node.serve({
    socket: far,
    remoteAddress: '192.0.2.7',
    remotePort: 50_000,
    protocol: 'tls',
    encrypted: true,
    serverName: 'me.example.org',
  })
  await closed
  t.pass('it is closed')
})

test('the node proves that it stands behind an address', async (t) => {
  const { node } = await start(t)
  const nonce = 'a5'.repeat(16)
  const answer = (await (await node.fetch(`/api/overlay/address-proof/${nonce}`)).json()) as Record<
    'nodeId' | 'signature',
    string
  >
  const signature = Buffer.from(answer.signature, 'base64url')
  t.ok(isSignedBy(answer.nodeId, addressStatement(nonce, node.url.host), signature))
  t.notOk(isSignedBy(answer.nodeId, addressStatement(nonce, 'elsewhere.example.org'), signature))
  for (const wrong of ['x', 'A5'.repeat(16), 'a5'.repeat(17)]) {
    t.equal((await node.fetch(`/api/overlay/address-proof/${wrong}`)).status, 400)
  }
})

test('a node that stops leaves the network', async (t) => {
  const network = fakeNetwork()
  const node = await createTestNode({ plugins: [overlay, network.plugin] })
  t.equal(network.hasLeft, false)
  await node.stop()
  t.equal(network.hasLeft, true)
})
