import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { test } from 'tap'
import { openLine } from './fixtures/bad-line.ts'
import { ask } from './fixtures/http-client.ts'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const domain = 'example.test'
const name = 'me.example.test'
const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
const reachable = /^Clients reach the node at https:/

function open(port: number): Socket {
  return connect({ host: '127.0.0.1', port }).on('error', () => {})
}

/** Resolves when the other side has closed the connection, with what it sent. */
async function endOf(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (piece) => {
    text += piece.toString('latin1')
  })
  socket.once('end', () => socket.destroy())
  // A reset ends it, too, and is no failure here.
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

test('connections that say nothing, too little or nonsense end, and the others go on', async (t) => {
  const me = await knownNode(t)
  const limits = { helloSeconds: 1 }
  const gateway = await startGateway(t, { gateway: { domain, tls, limits, names: { me: me.nodeId } } })
  const node = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await node.log.line(reachable)
  const { controlPort, httpPort, httpsPort, firstPort } = gateway
  const listeners = { control: controlPort, http: httpPort, https: httpsPort, port: firstPort }

  const beginnings: Record<string, string | Buffer> = {
    nothing: '',
    'half a request': 'GET / HT',
    'half a ClientHello': Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
    'a ClientHello of zeros': Buffer.concat([
      Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 196]),
      Buffer.alloc(196),
    ]),
    'a record without content': Buffer.from([22, 3, 1, 0, 0]),
    noise: Buffer.from('\0\x01\x02ssh-2.0 \xff'.repeat(100), 'latin1'),
  }
  const ends: Promise<unknown>[] = []
  for (const [listener, port] of Object.entries(listeners)) {
    for (const [what, bytes] of Object.entries(beginnings)) {
      // A request to the port of a node belongs to the node, which has its own limits.
      if (listener === 'port' && /request|noise/.test(what)) continue
      const socket = open(port)
      if (bytes.length > 0) socket.write(bytes)
      ends.push(endOf(socket).then(() => t.pass(`${listener}: ${what}`)))
      const halfOpen = open(port).end(bytes)
      ends.push(endOf(halfOpen).then(() => t.pass(`${listener}: ${what}, and then the end`)))
    }
    const slow = open(port)
    const drip = setInterval(() => slow.write(Buffer.from([22])), 50)
    slow.once('close', () => clearInterval(drip))
    ends.push(endOf(slow).then(() => t.pass(`${listener}: one byte after the other`)))
  }
  t.equal((await askHttps({ port: httpsPort, name, of: 'gateway', path: '/streams/mirror' })).status, 200)
  await Promise.all(ends)
  t.equal((await askHttps({ port: httpsPort, name, of: 'gateway', path: '/streams/mirror' })).status, 200)
  t.equal((await ask(firstPort, '/streams/mirror')).status, 200)
  t.match(await node.status(), { connected: true })
})

test('a client that has ended its side still gets a short answer', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(/^Clients reach/)
  const socket = open(gateway.firstPort)
  socket.end('GET /streams/mirror HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(await endOf(socket), /^HTTP\/1\.1 200 .*"host":"x"}$/s)
})

test('a ClientHello may come in pieces', async (t) => {
  const me = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { me: me.nodeId } } })
  const node = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await node.log.line(reachable)
  const line = await openLine(t, gateway.httpsPort)
  line.state.pieceBytes = 1
  t.equal((await askHttps({ port: line.port, name, of: 'gateway', path: '/streams/mirror' })).status, 200)
})

test('a client that asks for no name gets no node', async (t) => {
  const gateway = await startGateway(t, { gateway: { domain, tls } })
  const socket = connectTls({ host: '127.0.0.1', port: gateway.httpsPort, rejectUnauthorized: false })
  socket.write('GET / HTTP/1.1\r\nhost: me.example.test\r\n\r\n')
  t.match(await endOf(socket), /^HTTP\/1\.1 404 /)
})

test('one address has a limited number of connections', async (t) => {
  const limits = { connectionsPerAddress: 3 }
  const gateway = await startGateway(t, { gateway: { limits } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(/^Clients reach/)
  const port = gateway.firstPort
  // The gateway itself comes from 127.0.0.1, to check whether the node is reachable.
  const localAddress = '127.0.0.2'
  const openHere = () => connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {})
  const sockets = [openHere(), openHere(), openHere()]
  for (const socket of sockets) {
    socket.write('GET /streams/mirror HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'data')
  }
  const fourth = openHere()
  fourth.write('GET /streams/mirror HTTP/1.1\r\nhost: x\r\n\r\n')
  t.equal(await endOf(fourth), '', 'it is closed at once')
  t.equal((await ask(port, '/streams/mirror')).status, 200, 'another address has its own')
  sockets[0]?.destroy()
  while ((await ask(port, '/streams/mirror', { localAddress }).catch(() => null))?.status !== 200);
  t.pass('when one has ended, there is room for another one')
  for (const socket of sockets) socket.destroy()
})

test('a node has a limited number of clients, and the next one is told to come later', async (t) => {
  const gateway = await startGateway(t, { gateway: { limits: { connectionsPerNode: 2 } } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(/^Clients reach/)
  const port = gateway.firstPort
  const sockets = [open(port), open(port)]
  for (const socket of sockets) {
    socket.write('GET /streams/mirror HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'data')
  }
  const answer = await ask(port, '/streams/mirror')
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '5')
  t.match(JSON.parse(answer.body), { error: true, code: 'SERVICE_UNAVAILABLE' })
  for (const socket of sockets) socket.destroy()
})

test('a gateway without room for handshakes closes connections of nodes', async (t) => {
  const gateway = await startGateway(t, {
    gateway: { limits: { handshakesPerAddress: 2, helloSeconds: 60 } },
  })
  const idle = [open(gateway.controlPort), open(gateway.controlPort)]
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  t.equal(await endOf(open(gateway.controlPort)), '')
  for (const socket of idle) socket.destroy()
  const node = await startTunnelNode(t, gateway)
  await node.log.line(/^Clients reach/)
})

test('all connections of a node together keep to a rate', async (t) => {
  const gateway = await startGateway(t, { gateway: { limits: { bytesPerSecond: 1_000_000 } } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(/^Clients reach/)
  const began = performance.now()
  const answers = await Promise.all([1, 2].map(() => ask(gateway.firstPort, '/streams/down?bytes=1500000')))
  const seconds = (performance.now() - began) / 1000
  t.same(
    answers.map(({ body }) => body.length),
    [1_500_000, 1_500_000],
    'every byte arrives',
  )
  // One second of the rate may pass at once.
  t.ok(seconds > 1.8, `3 MB took ${seconds.toFixed(1)} s`)
})
