import { once } from 'node:events'
import { createServer } from 'node:net'
import type { OverlayConnection, OverlayNode } from '@nodekeep/plugin-sdk'
import { tunnelVersion, writeLine } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import { startIdentityNode } from './fixtures/identity-node.ts'
import { ScriptedGateway } from './fixtures/scripted-gateway.ts'
import { startTunnel, type TunnelSubject } from './fixtures/tunnel-subject.ts'

interface Joined extends TunnelSubject {
  readonly gateway: ScriptedGateway
  readonly served: OverlayConnection[]
  leave(): Promise<void>
}

/** A node that has joined the network of a scripted gateway. */
async function join(t: Test, section: Readonly<Record<string, unknown>> = {}): Promise<Joined> {
  const lender = await startIdentityNode()
  const gateway = await ScriptedGateway.start(lender.identity)
  const subject = await startTunnel({ gateway: `127.0.0.1:${gateway.port}`, ...section })
  const leaving = new AbortController()
  const served: OverlayConnection[] = []
  const node: OverlayNode = {
    endsTls: true,
    statusChanged() {},
    serve(connection) {
      connection.socket.on('error', () => {})
      served.push(connection)
    },
  }
  const joined = subject.network.join(node, leaving.signal)
  const leave = async () => {
    leaving.abort()
    await joined
  }
  t.teardown(async () => {
    await leave()
    await subject.node.stop()
    gateway.close()
    await lender.node.stop()
  })
  return { ...subject, gateway, served, leave }
}

test('the node says who and what it is, and that it leaves', async (t) => {
  const { gateway, leave } = await join(t)
  const control = await gateway.control(1)
  t.match(control.line, { purpose: 'control', version: tunnelVersion, endsTls: true, host: '127.0.0.1' })
  t.match(control.nodeId, /^[1-9A-HJ-NP-Za-km-z]{43,44}$/)
  await leave()
  await once(control.socket, 'close')
  t.equal(control.heard.at(-1), '{"type":"leaving"}')
})

test('the node opens as many connections as the gateway asks for, within its own limit', async (t) => {
  const { gateway } = await join(t, { maxConnections: 5 })
  const control = await gateway.control(1)
  control.send({ type: 'dial', count: 2 })
  await gateway.idleConnections(2)
  control.send({ type: 'dial', count: 1000 })
  await gateway.idleConnections(5)
  control.send({ type: 'dial', count: 1000 })
  for (const socket of [...gateway.idle].slice(0, 2)) socket.destroy()
  control.send({ type: 'dial', count: 1 })
  await gateway.idleConnections(4)
  t.ok(gateway.idle.length <= 5)
})

test('a connection whose client is not described well is closed', async (t) => {
  const { gateway, served } = await join(t)
  const control = await gateway.control(1)
  for (const line of ['nonsense\n', '{"address":"me","port":1}\n', `${'x'.repeat(5000)}\n`]) {
    control.send({ type: 'dial', count: 1 })
    await gateway.idleConnections(1)
    const [socket] = gateway.idle
    socket?.resume().write(line)
    socket?.once('end', () => socket.destroy())
    if (socket !== undefined) await new Promise((resolve) => socket.once('close', resolve))
  }
  t.same(served, [])
})

test('a node that is refused stays away for as long as the gateway says, and tells why', async (t) => {
  const lender = await startIdentityNode()
  const gateway = await ScriptedGateway.start(lender.identity)
  gateway.isFriendly = false
  const { node, network, log } = await startTunnel({ gateway: `127.0.0.1:${gateway.port}` })
  const leaving = new AbortController()
  const joined = network.join({ endsTls: false, serve() {}, statusChanged() {} }, leaving.signal)
  t.teardown(async () => {
    leaving.abort()
    await joined
    await node.stop()
    gateway.close()
    await lender.node.stop()
  })
  const first = await gateway.control(1)
  const began = performance.now()
  first.send({ type: 'refused', reason: 'The house is full.', retrySeconds: 1 })
  await gateway.control(2)
  t.ok(performance.now() - began > 990)
  t.same(network.status(), {
    connected: false,
    proxyEnabled: true,
    allocatedPort: 0,
    origins: [],
    problem: null,
  })
  t.ok(log.some(({ level, msg }) => level === 'warn' && msg.endsWith('The house is full.')))
})

test('a gateway that stops has no clients for the node any more', async (t) => {
  const { gateway, network } = await join(t)
  const control = await gateway.control(1)
  t.teardown(() => gateway.close())
  while (!network.status().connected) await new Promise(setImmediate)
  control.send({ type: 'stopping' })
  while (network.status().connected) await new Promise(setImmediate)
  t.same(network.status().origins, [])
})

test('an address that clients do not reach is told in the log, and the node is not connected', async (t) => {
  const { gateway, network, log } = await join(t)
  const control = await gateway.control(1)
  while (!network.status().connected) await new Promise(setImmediate)
  const url = `http://127.0.0.1:${gateway.publicPort}`
  control.send({ type: 'reachability', url, reachable: false, reason: 'Nobody answers in time.' })
  while (network.status().connected) await new Promise(setImmediate)
  t.same(network.status().origins, [url], 'the address is still the one of the node')
  t.ok(log.some(({ level, msg }) => level === 'warn' && /do not reach.*Nobody answers in time/.test(msg)))
})

test('a gateway cannot fill the log of the node', async (t) => {
  const { gateway, network, log } = await join(t)
  const control = await gateway.control(1)
  while (!network.status().connected) await new Promise(setImmediate)
  const url = `http://127.0.0.1:${gateway.publicPort}`
  const before = log.length
  for (let at = 0; at < 500; at += 1) {
    control.send({ type: 'reachability', url, reachable: false, reason: 'x'.repeat(500) })
    control.send({ type: 'reachability', url, reachable: true, reason: null })
    control.send({ type: 'stopping' })
  }
  control.send({ type: 'welcome', port: 17, urls: [] })
  while (network.status().allocatedPort !== 17) await new Promise(setImmediate)
  t.ok(log.length - before < 100, `${log.length - before} lines`)
  t.ok(log.some(({ msg }) => /not logged for/.test(msg)))
  for (let at = 0; at < 10; at += 1) control.send({ type: 'replaced' })
  await gateway.control(2)
  t.equal(log.filter(({ msg }) => /has taken its place/.test(msg)).length, 1)
})

test('a gateway cannot make up addresses of the node', async (t) => {
  const { gateway, network, log } = await join(t, { name: 'me.example.org:8443' })
  const control = await gateway.control(1)
  const own = ['https://me.example.org:8443', 'http://127.0.0.1:20017']
  const foreign = [
    'https://bank.example.net',
    'https://me.example.org',
    'https://127.0.0.1:20017',
    'http://127.0.0.1:20018',
    'http://me.example.org:8443',
  ]
  while (!network.status().connected) await new Promise(setImmediate)
  control.send({ type: 'welcome', port: 20_017, urls: [...foreign, ...own] })
  while (network.status().allocatedPort !== 20_017) await new Promise(setImmediate)
  t.same(network.status().origins, own)
  for (const url of foreign) control.send({ type: 'reachability', url, reachable: true, reason: null })
  control.send({ type: 'welcome', port: 0, urls: foreign })
  while (network.status().allocatedPort !== 0) await new Promise(setImmediate)
  t.match(network.status(), { connected: false, origins: [] })
  const warnings = log.filter(({ msg }) => msg.includes('bank.example.net'))
  t.match(warnings, [{ level: 'warn', msg: /set "overlay-tunnel\.name" to "bank\.example\.net"/ }], 'once')
})

test('a machine that is no gateway is told in the log once, and tried again', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const { node, network, log } = await startTunnel({ gateway: `127.0.0.1:${port}` })
  const leaving = new AbortController()
  const joined = network.join({ endsTls: false, serve() {}, statusChanged() {} }, leaving.signal)
  for (let attempt = 0; attempt < 3; attempt += 1) await once(server, 'connection')
  leaving.abort()
  await joined
  await node.stop()
  server.close()
  const warnings = log.filter(({ level }) => level === 'warn')
  t.equal(warnings.length, 1)
  t.match(warnings[0]?.msg, /no gateway takes nodes there. Check the host and the port.*\(ERR_SSL_\w+\)$/)
})

test('without a gateway, or without the proxy, nothing is joined', async (t) => {
  const isForgotten = /To do so, set "overlay-tunnel.gateway"/
  for (const section of [
    {},
    { gateway: '' },
    { name: 'me.example.org' },
    { gateway: 'gateway.example.org', proxy: false },
  ]) {
    const { node, network, log } = await startTunnel(section)
    t.equal(log.filter(({ msg }) => isForgotten.test(msg)).length, 'name' in section ? 1 : 0)
    t.equal(network.isConfigured, false)
    t.same(network.status(), {
      connected: false,
      proxyEnabled: false,
      allocatedPort: 0,
      origins: [],
      problem: null,
    })
    await network.join({ endsTls: false, serve() {}, statusChanged() {} }, new AbortController().signal)
    await node.stop()
  }
})

test('a line about a client and its first bytes may come in one piece', async (t) => {
  const { gateway, served } = await join(t)
  const control = await gateway.control(1)
  control.send({ type: 'dial', count: 1 })
  await gateway.idleConnections(1)
  const [socket] = gateway.idle
  const line = {
    address: '192.0.2.7',
    port: 7,
    serverName: 'me.example.org',
    protocol: 'tls',
    encrypted: true,
  } as const
  socket?.write(`${writeLine(line)}first bytes`)
  while (served.length === 0) await new Promise(setImmediate)
  const [connection] = served
  t.match(connection, {
    remoteAddress: '192.0.2.7',
    remotePort: 7,
    serverName: 'me.example.org',
    protocol: 'tls',
    encrypted: true,
  })
  if (connection === undefined) return
  const [bytes] = (await once(connection.socket, 'data')) as [Buffer]
  t.equal(String(bytes), 'first bytes')
})
