import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t, { test } from 'tap'
import { openLine } from './fixtures/bad-line.ts'
import { ask } from './fixtures/http-client.ts'
import { certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

// Hundreds of connections take their time on a busy machine.
t.setTimeout(120_000)

const reachable = /^Clients reach the node at http:/

test('a line that delays, breaks bytes up and cuts harms nothing but its own connections', async (t) => {
  const gateway = await startGateway(t)
  const line = await openLine(t, gateway.controlPort)
  line.state.pieceBytes = 1
  const node = await startTunnelNode(t, { controlPort: line.port }, { plugins: [streams] })
  await node.log.line(reachable)
  t.match(JSON.parse((await ask(gateway.firstPort, '/streams/mirror')).body), { ip: '127.0.0.1' })

  line.state.pieceBytes = 7
  const sent = randomBytes(20_000)
  const asking = request({
    port: gateway.firstPort,
    host: '127.0.0.1',
    method: 'POST',
    path: '/streams/echo',
    agent: false,
    headers: { 'content-type': 'application/octet-stream' },
  })
  asking.end(sent)
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  t.same(await buffer(response), sent, 'every byte arrives, in order')

  line.state.pieceBytes = 0
  line.state.delayMs = 30
  t.equal((await ask(gateway.firstPort, '/streams/mirror')).status, 200)

  line.state.delayMs = 0
  const cutting = get({
    port: gateway.firstPort,
    host: '127.0.0.1',
    path: '/streams/down?bytes=1000000000',
    agent: false,
  })
  cutting.on('error', () => {})
  const [long] = (await once(cutting, 'response')) as [IncomingMessage]
  await once(long, 'data')
  const mark = node.log.mark
  line.cut()
  await t.rejects(text(long), { code: 'ECONNRESET' }, 'an answer that is cut short is not whole')
  await node.log.line(/^The connection to the gateway has ended/, mark)
  await node.log.line(reachable, mark)
  t.equal((await ask(gateway.firstPort, '/streams/mirror')).status, 200, 'the node is back')
})

test('a client that resets its connection resets that of the node', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const socket = connect({ host: '127.0.0.1', port: gateway.firstPort })
  socket.write(
    'POST /streams/up HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 100\r\n\r\n12345',
  )
  await node.log.line(/^An upload begins/)
  const mark = node.log.mark
  socket.resetAndDestroy()
  await node.log.line(/^An upload ended early/, mark)
  t.pass('the node sees the end of the upload')
})

test('an upload may take long, but not pause for longer than the limit', async (t) => {
  const me = await knownNode(t)
  const own = { cert: certificateFile('node', 'crt'), key: certificateFile('node', 'key') }
  const gateway = await startGateway(t, { gateway: { domain: 'example.test', names: { me: me.nodeId } } })
  const node = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    tunnel: { name: `me.example.test:${gateway.httpsPort}` },
    config: { overlay: { tls: own }, server: { bodyTimeoutSeconds: 1 } },
  })
  await node.log.line(/^Clients reach the node at https:/)
  await node.log.line(reachable)
  const host = '127.0.0.1'
  const https = { host, port: gateway.httpsPort, servername: 'me.example.test', rejectUnauthorized: false }
  for (const [what, open] of Object.entries({
    'without TLS': () => connect({ host, port: gateway.firstPort }),
    'TLS on the node': () => connectTls(https),
  })) {
    const upload = async (pieces: number, pauseMs: number) => {
      const socket = open()
      const answered = once(socket, 'data')
      const head = [
        `POST /streams/up HTTP/1.1`,
        `host: me.example.test`,
        'content-type: application/octet-stream',
      ]
      socket.write(`${head.join('\r\n')}\r\ncontent-length: ${pieces}\r\n\r\n`)
      for (let at = 0; at < pieces; at += 1) {
        socket.write('x')
        if (await Promise.race([answered, delay(pauseMs)])) break
      }
      const [answer] = (await answered) as [Buffer]
      socket.destroy()
      return String(answer)
    }
    t.match(await upload(8, 400), /^HTTP\/1\.1 200 .*{"bytes":8}$/s, `${what}: longer than the limit in all`)
    t.match(await upload(2, 3000), /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s, `${what}: a pause beyond the limit`)
  }
})

test('1,000 connections at once are all served', async (t) => {
  const limits = { connectionsPerAddress: 2000, connectionsPerNode: 2000 }
  const gateway = await startGateway(t, { gateway: { limits } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams], tunnel: { maxConnections: 2000 } })
  await node.log.line(reachable)
  const sockets = Array.from({ length: 1000 }, () => connect({ host: '127.0.0.1', port: gateway.firstPort }))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const answers = await Promise.all(
    sockets.map(async (socket, at) => {
      socket.write(`GET /streams/mirror?${at} HTTP/1.1\r\nhost: x${at}\r\n\r\n`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      return String(answer)
    }),
  )
  t.ok(answers.every((answer, at) => answer.startsWith('HTTP/1.1 200') && answer.includes(`"host":"x${at}"`)))
})

test('200 clients that never read hold nobody up', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const before = process.memoryUsage().rss
  const readers: Socket[] = []
  t.teardown(() => {
    for (const socket of readers) socket.destroy()
  })
  for (let at = 0; at < 200; at += 1) {
    const socket = connect({ host: '127.0.0.1', port: gateway.firstPort })
    socket.pause()
    socket.write('GET /streams/down?bytes=1000000000 HTTP/1.1\r\nhost: x\r\n\r\n')
    readers.push(socket)
  }
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  for (let at = 0; at < 20; at += 1) {
    t.equal((await ask(gateway.firstPort, '/streams/mirror', { agent })).status, 200)
  }
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  t.ok(grown < 400, `${grown.toFixed(0)} MiB more in gateway, node and clients together`)
})

test('events and WebSockets pass, and end with the session', async (t) => {
  const me = await knownNode(t)
  const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
  const gateway = await startGateway(t, {
    gateway: { domain: 'example.test', tls, names: { me: me.nodeId } },
  })
  const node = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [streams],
    tunnel: { name: `me.example.test:${gateway.httpsPort}` },
  })
  await node.log.line(reachable)
  const ada = await node.node.signIn()
  const headers = { authorization: `Bearer ${ada.token}` }

  const asking = get({
    host: '127.0.0.1',
    port: gateway.firstPort,
    path: '/streams/events',
    headers,
    agent: false,
  })
  const [events] = (await once(asking, 'response')) as [IncomingMessage]
  let seen = ''
  for await (const piece of events.iterator({ destroyOnReturn: false })) {
    seen += piece
    if (seen.includes('event 3')) break
  }
  t.match(seen, /^data: event 1\n\ndata: event 2\n\n/)
  events.destroy()

  const socket = new WebSocket(`ws://127.0.0.1:${gateway.firstPort}/streams/echo`, { headers } as never)
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  const echoed = new Promise<MessageEvent>((resolve) =>
    socket.addEventListener('message', resolve, { once: true }),
  )
  socket.send('hello')
  t.equal((await echoed).data, 'hello')
  const closed = new Promise<CloseEvent>((resolve) =>
    socket.addEventListener('close', resolve, { once: true }),
  )
  await node.node.fetch('/auth/logout', { method: 'POST', headers })
  t.equal((await closed).code, 1008, 'the session has ended')
})
