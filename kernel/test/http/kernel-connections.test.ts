import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { Connections, clientSignal, definePlugin } from '@nodekeep/plugin-sdk'
import t, { type Test, test } from 'tap'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'
import { until } from '../state/fixtures/until.ts'
import { checkError } from './fixtures/error-answer.ts'
import { createHanding, type Handing, type Way, ways } from './fixtures/handing-plugin.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest, sendSlowly } from './fixtures/raw-connection.ts'

const MiB = 1024 * 1024
const open = { access: 'public', publicReason: 'It is there for a test.' } as const
const octets = { 'content-type': 'application/octet-stream' }
const json = { 'content-type': 'application/json' }
const client = { remoteAddress: '203.0.113.7', remotePort: 1, encrypted: false, serverName: null }

// The tests run concurrently, because they mostly wait.
t.jobs = 6

/** A plugin whose answers wait for a gate. Also counts what begins and what is cut off. */
function createGated() {
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  const cut: string[] = []
  /** Bytes that `/endless` has given to the server. */
  const given = { bytes: 0 }
  const plugin = definePlugin({
    id: 'gated',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
        app.get('/gate', { config: open }, async ({ url }, reply) => {
          begun.push(url)
          clientSignal(reply).addEventListener('abort', () => cut.push(url))
          await gate.promise
          return 'gate'
        })
        app.get('/quick/:id', { config: open }, async ({ url }) => {
          begun.push(url)
          return url
        })
        app.get('/endless', { config: open }, async ({ url }, reply) => {
          async function* chunks() {
            try {
              for (;;) {
                given.bytes += 64 * 1024
                yield Buffer.alloc(64 * 1024)
              }
            } finally {
              cut.push(url)
            }
          }
          return reply.type('application/octet-stream').send(Readable.from(chunks()))
        })
        app.put('/echo', { config: { ...open, body: 'stream' } }, async ({ body }, reply) => {
          const chunks: Buffer[] = []
          for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk)
          return reply.type('application/octet-stream').send(Buffer.concat(chunks))
        })
      })
    },
  })
  return { plugin, begun, cut, given, open: () => gate.resolve() }
}

/** Starts a node to which a plugin hands connections over. */
async function startNode(t: Test, way: Way, server = {}, hand?: Parameters<typeof createHanding>[2]) {
  const handing = createHanding(t, way, hand)
  const gated = createGated()
  const node = await createTestNode({ plugins: [probe, gated.plugin, handing.plugin], config: { server } })
  t.teardown(() => node.stop())
  return { node, handing, gated, connect: handing.connect }
}

for (const way of ways) {
  test(`${way}: bytes arrive whole in both directions, and a connection serves many requests`, async (t) => {
    const { connect } = await startNode(t, way)
    const connection = await connect()
    const content = randomBytes(MiB / 2).toString('hex')
    for (let i = 0; i < 2; i++) {
      connection.send(rawRequest('PUT', '/echo', octets, content), rawRequest('GET', '/open'))
      t.ok((await connection.answer()).body === content)
      t.equal((await connection.answer()).status, 200)
    }
  })

  test(`${way}: bytes that arrived before the connection was handed over are served`, async (t) => {
    const { connect } = await startNode(t, way, {}, (serve, socket) => {
      let head = Buffer.alloc(0)
      socket.on('data', function read(chunk: Buffer) {
        head = Buffer.concat([head, chunk])
        const end = head.indexOf('\n')
        if (end < 0) return
        socket.off('data', read)
        socket.pause()
        if (end + 1 < head.length) socket.unshift(head.subarray(end + 1))
        // Others may do this later.
        setImmediate(serve)
      })
    })
    for (const [before, after] of [
      ['a line\n', rawRequest('GET', '/open')],
      [`a line\n${rawRequest('GET', '/open')}`, ''],
      [`a line\n${rawRequest('GET', '/open').slice(0, 20)}`, rawRequest('GET', '/open').slice(20)],
    ] as const) {
      const connection = await connect()
      connection.send(before)
      await wait(20)
      if (after !== '') connection.send(after)
      t.match(await connection.answer(), { status: 200, body: '{"open":true}' })
      connection.send(rawRequest('GET', '/open'))
      t.equal((await connection.answer()).status, 200)
    }
  })

  test(`${way}: a slow upload is served, and one that stalls ends`, async (t) => {
    const { connect } = await startNode(t, way, { bodyTimeoutSeconds: 1 })
    const slow = await until(async () => {
      const connection = await connect()
      connection.send(rawRequest('POST', '/upload', { ...octets, 'content-length': '20' }))
      if (await sendSlowly(connection, { bytes: 20, everyMs: 150, limitMs: 1000 })) return connection
      connection.close()
      return null
    })
    t.match(await slow.answer(), { status: 200, body: '{"bytes":20}' }, 'three times the limit in all')
    const stalled = await connect()
    stalled.send(rawRequest('POST', '/upload', { ...octets, 'content-length': '20' }, 'abc'))
    checkError(t, await stalled.answer(), 'REQUEST_TIMEOUT')
    stalled.socket.end()
    await stalled.ended()
  })

  test(`${way}: headers, idle connections and silent ones have their time limits`, async (t) => {
    // Only connections without a whole request have the short limit: others may begin late on a busy machine.
    const short = await startNode(t, way, { headersTimeoutSeconds: 0.3 })
    const silent = await short.connect()
    checkError(t, await silent.answer(), 'REQUEST_TIMEOUT', 'no byte at all')
    silent.close()
    const trickling = await short.connect()
    trickling.send('GET /open HTTP/1.1\r\nhost: a\r\n')
    checkError(t, await trickling.answer(), 'REQUEST_TIMEOUT', 'headers without an end')
    trickling.close()

    const limits = { keepAliveTimeoutSeconds: 0.2, drainSeconds: 0.1, stallTimeoutSeconds: 1.5 }
    const { connect, gated } = await startNode(t, way, limits)
    const idle = await connect()
    idle.send(rawRequest('GET', '/slow').repeat(2))
    for (let i = 0; i < 2; i++) t.equal((await idle.answer()).status, 200, 'a connection in use stays')
    t.equal(await idle.ended(), '', 'an idle connection ends')

    const stalled = await connect()
    stalled.send(rawRequest('GET', '/gate'))
    t.equal(await stalled.ended(), '', 'an answer that does not begin')
    const unread = await connect()
    unread.socket.pause()
    unread.send(rawRequest('GET', '/endless'))
    await until(() => gated.cut.includes('/endless'))
    t.ok(gated.given.bytes < 64 * MiB, `an answer that nobody reads: ${gated.given.bytes} bytes`)
  })

  test(`${way}: requests wait in order, and too many of them end the connection`, async (t) => {
    const { connect, gated } = await startNode(t, way)
    const connection = await connect()
    const quick = Array.from({ length: 64 }, (_, i) => `/quick/${i}`)
    const flood = await connect()
    flood.send(rawRequest('GET', '/gate?flood') + rawRequest('GET', '/quick/1').repeat(65))
    t.equal(await flood.ended(), '')
    connection.send(rawRequest('GET', '/gate') + quick.map((path) => rawRequest('GET', path)).join(''))
    await until(() => gated.begun.includes('/gate'))
    t.notOk(gated.begun.some((path) => path.startsWith('/quick')))
    gated.open()
    t.match(await connection.answer(), { status: 200, body: 'gate' })
    for (const path of quick) t.match(await connection.answer(), { status: 200, body: path })
  })

  test(`${way}: malformed, expecting and refused requests are answered like everywhere`, async (t) => {
    const { connect } = await startNode(t, way)
    const malformed = await connect()
    malformed.send('hello?\r\n\r\n')
    checkError(t, await malformed.answer(), 'VALIDATION_ERROR')
    malformed.socket.end()
    t.equal(await malformed.ended(), '')

    const expecting = await connect()
    const asking = { ...octets, expect: '100-continue', 'content-length': '3' }
    expecting.send(rawRequest('POST', '/upload', asking))
    t.equal((await expecting.answer()).status, 100)
    expecting.send('abc')
    t.match(await expecting.answer(), { status: 200, body: '{"bytes":3}' })

    const refused = await connect()
    refused.send(rawRequest('POST', '/mine', { ...json, 'content-length': `${100 * MiB}` }))
    refused.send(Buffer.alloc(MiB))
    const answer = await refused.answer()
    checkError(t, answer, 'UNAUTHORIZED', 'the answer outlives the body that nobody reads')
    t.equal(answer.headers.connection, 'close')
    refused.socket.end()
    await refused.ended()
  })

  test(`${way}: a client that leaves ends its request`, async (t) => {
    const { connect, gated } = await startNode(t, way)
    const connection = await connect()
    connection.send(rawRequest('GET', '/gate'))
    await until(() => gated.begun.includes('/gate'))
    connection.close()
    await until(() => gated.cut.includes('/gate'))
    const reading = await connect()
    reading.send(rawRequest('GET', '/endless'))
    await once(reading.socket, 'data')
    reading.close()
    await until(() => gated.cut.includes('/endless'))
    t.pass()
  })

  test(`${way}: the connections share one limit with those of the port`, async (t) => {
    const { node, connect } = await startNode(t, way, { maxConnections: 3 })
    const ask = async (by: 'port' | 'plugin') => {
      const connection = by === 'port' ? rawConnection(node.url) : await connect()
      connection.send(rawRequest('GET', '/open'))
      return { connection, answer: await connection.answer().catch(() => null) }
    }
    const held = [await ask('plugin'), await ask('port'), await ask('plugin')]
    for (const { answer } of held) t.equal(answer?.status, 200)
    t.equal((await ask('plugin')).answer, null)
    t.equal((await ask('port')).answer, null)
    held[0]?.connection.close()
    const later = await until(async () => {
      const { answer, connection } = await ask('port')
      return answer === null ? null : connection
    })
    t.equal((await ask('plugin')).answer, null, 'full again')
    later.close()
    t.ok(await until(async () => (await ask('plugin')).answer))
  })

  test(`${way}: a stop waits for requests, and refuses further connections`, async (t) => {
    const { node, connect, gated, handing } = await startNode(t, way, { drainSeconds: 20 })
    const idle = await connect()
    idle.send(rawRequest('GET', '/open'))
    t.equal((await idle.answer()).status, 200)
    const busy = await connect()
    busy.send(rawRequest('GET', '/gate'))
    await until(() => gated.begun.includes('/gate'))
    const stopped = node.stop()
    t.equal(await idle.ended(), '', 'an idle connection ends at once')
    const late = await connect()
    late.send(rawRequest('GET', '/open'))
    t.equal(await late.ended(), '')
    let isStopped = false
    stopped.then(() => {
      isStopped = true
    })
    await wait(50)
    t.notOk(isStopped)
    gated.open()
    t.match(await busy.answer(), { status: 200, body: 'gate' })
    t.equal(await busy.ended(), '')
    await stopped
    const socket = new PassThrough()
    handing.serve({ ...client, socket })
    t.ok(socket.destroyed, 'after the stop')
  })

  test(`${way}: a stop refuses requests that exceed its time`, async (t) => {
    const { node, connect, gated } = await startNode(t, way, { drainSeconds: 0.1 })
    const busy = await connect()
    busy.send(rawRequest('GET', '/gate'))
    await until(() => gated.begun.includes('/gate'))
    const [answer] = await Promise.all([busy.answer(), node.stop()])
    checkError(t, answer, 'SERVICE_UNAVAILABLE')
    t.equal(await busy.ended(), '')
  })

  test(`${way}: a WebSocket works, and ends with its session`, async (t) => {
    const handing = createHanding(t, way)
    const sockets = definePlugin({
      id: 'sockets',
      setup({ routes }) {
        routes(
          (app) => {
            app.get('/echo', { websocket: true }, (socket) => {
              socket.on('message', (message: Buffer) => socket.send(`${message}!`))
            })
          },
          { webSockets: true },
        )
      },
    })
    const { openSession, as } = await startLoginNode(t, { plugins: [handing.plugin, sockets] })
    const { sessionToken } = await openSession(wallet(1))
    const connection = await handing.connect()
    const handshake = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    }
    const cookie = `session=${sessionToken}`
    connection.send(rawRequest('GET', '/echo', { ...handshake, cookie, origin: 'https://evil.test' }))
    checkError(t, await connection.answer(), 'FORBIDDEN', 'a page of another site')
    const other = await handing.connect()
    other.send(rawRequest('GET', '/echo', { ...handshake, cookie, origin: 'http://node.test' }))
    t.equal((await other.answer()).status, 101)
    // A text frame "hello" with an empty mask (RFC 6455).
    other.send(Buffer.from([0x81, 0x85, 0, 0, 0, 0]), 'hello')
    await once(other.socket, 'data')

    const large = await handing.connect()
    large.send(rawRequest('GET', '/echo', { ...handshake, cookie }))
    t.equal((await large.answer()).status, 101)
    // The head of a binary frame of 2 MiB.
    large.send(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]))
    t.equal(await large.ended(), '\x88\x02\x03\xf1', 'the client learns why')
    t.equal((await as(sessionToken, '/auth/logout', { method: 'POST' })).status, 200)
    t.equal(await other.ended(), '\x81\x06hello!\x88\x18\x03\xf0The session has ended.')
  })
}

test('a connection is destroyed before the node serves', async (t) => {
  const early = { socket: new PassThrough() }
  const serving = { socket: new PassThrough() }
  const plugin = definePlugin({
    id: 'early',
    requires: { connections: Connections },
    setup({ connections, onStart, onServing }) {
      onStart(() => connections.serve({ ...client, ...early }))
      onServing(() => connections.serve({ ...client, ...serving }))
    },
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.teardown(() => node.stop())
  t.ok(early.socket.destroyed)
  t.notOk(serving.socket.destroyed)
})

test('a connection that has failed already does no harm', async (t) => {
  const { handing, node } = await startNode(t, 'net.Socket', { maxConnections: 2 })
  for (let i = 0; i < 5; i++) {
    const socket = new PassThrough()
    socket.destroy()
    handing.serve({ ...client, socket })
  }
  t.equal((await node.fetch('/open')).status, 200, 'it does not count for the limit')
})

test('requests do not run in the context of the plugin that handed their connection over', async (t) => {
  const context = new AsyncLocalStorage<string>()
  const telling = definePlugin({
    id: 'telling',
    setup({ routes }) {
      routes((app) => {
        app.get('/context', { config: open }, async () => ({ context: context.getStore() ?? null }))
      })
    },
  })
  for (const way of ways) {
    const handing: Handing = createHanding(t, way, (serve) => context.run('another plugin', serve))
    const node = await createTestNode({ plugins: [telling, handing.plugin] })
    const connection = await handing.connect()
    connection.send(rawRequest('GET', '/context').repeat(3))
    for (let i = 0; i < 3; i++) t.equal((await connection.answer()).body, '{"context":null}', way)
    await node.stop()
  }
})
