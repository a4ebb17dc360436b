import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { test } from 'tap'
import { openLine } from './fixtures/bad-line.ts'
import { ask } from './fixtures/http-client.ts'
import { certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

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
  const ways: Record<string, () => Socket> = {
    'without TLS': () => connect({ host, port: gateway.firstPort }),
    'TLS on the node': () => connectTls(https),
  }
  const head = [
    'POST /streams/up HTTP/1.1',
    'host: me.example.test',
    'content-type: application/octet-stream',
  ]
  const upload = async (open: () => Socket, pieces: number, pauseMs: number) => {
    const socket = open()
    const answered = once(socket, 'data')
    socket.write(`${head.join('\r\n')}\r\ncontent-length: ${pieces}\r\n\r\n`)
    for (let at = 0; at < pieces; at += 1) {
      socket.write('x')
      if (await Promise.race([answered, delay(pauseMs)])) break
    }
    const [answer] = (await answered) as [Buffer]
    socket.destroy()
    return String(answer)
  }
  const uploads = Object.entries(ways).map(async ([what, open]) => {
    const [slow, stalled] = await Promise.all([upload(open, 6, 400), upload(open, 2, 5000)])
    t.match(slow, /^HTTP\/1\.1 200 .*{"bytes":6}$/s, `${what}: longer than the limit in all`)
    t.match(stalled, /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s, `${what}: a pause beyond the limit`)
  })
  await Promise.all(uploads)
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
    config: { plugins: { files: true, 'storage-local': true } },
    tunnel: { name: `me.example.test:${gateway.httpsPort}` },
  })
  await node.log.line(reachable)
  const ada = await node.node.signIn()
  const headers = { authorization: `Bearer ${ada.token}` }

  const asking = get({
    host: '127.0.0.1',
    port: gateway.firstPort,
    path: '/api/files/changes',
    headers: { ...headers, accept: 'text/event-stream' },
    agent: false,
  })
  const [events] = (await once(asking, 'response')) as [IncomingMessage]
  let seen = ''
  events.setEncoding('utf8').on('data', (text: string) => {
    seen += text
  })
  const sees = async (what: string) => {
    while (!seen.includes(what)) await once(events, 'data')
  }
  await sees('"changes":[]')
  await node.node.fetch('/mkdir', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"path":"/notes"}',
  })
  await sees('"/notes"')

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
  const ended = once(events, 'end')
  await node.node.fetch('/auth/logout', { method: 'POST', headers })
  t.equal((await closed).code, 1008, 'the WebSocket ends with the session')
  await ended
  t.ok(events.complete, 'so do the events, and their end is not a cut')
})
