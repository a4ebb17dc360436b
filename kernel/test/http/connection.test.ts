// In a process of its own: it measures its memory and its descriptors.
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { until } from '../state/fixtures/until.ts'
import { checkError } from './fixtures/error-answer.ts'
import { type RawConnection, rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const MiB = 1024 * 1024
const config = { access: 'public', publicReason: 'A test.' } as const
const octets = { 'content-type': 'application/octet-stream' }
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

/** Starts a node with routes whose answers wait for a gate. Also returns the paths of the requests that began, in order. */
async function startGatedNode() {
  const begun: string[] = []
  let running = 0
  let mostRunning = 0
  let gate = Promise.withResolvers<void>()
  const plugin = definePlugin({
    id: 'gated',
    setup({ routes }) {
      routes(
        (app) => {
          app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
          app.addHook('onRequest', async ({ url }, { raw }) => {
            begun.push(url)
            running += 1
            mostRunning = Math.max(mostRunning, running)
            raw.once('close', () => {
              running -= 1
            })
          })
          app.get('/gate', { config }, async () => {
            await gate.promise
            return 'gate'
          })
          app.get('/quick/:id', { config }, async ({ url }) => url)
          app.put('/upload/:id', { config: { ...config, body: 'stream' } }, async ({ body }) => {
            let bytes = 0
            for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length
            return { bytes }
          })
          app.get('/socket', { config, websocket: true }, (socket) => socket.send('hello'))
        },
        { webSockets: true },
      )
    },
  })
  const node = await createTestNode({ plugins: [plugin] })
  return {
    node,
    begun,
    most: () => mostRunning,
    open: () => gate.resolve(),
    shut: () => {
      gate = Promise.withResolvers()
    },
    started: (path: string) => until(() => begun.includes(path)),
  }
}

/** Waits until the node answers on another connection. By then, it has read the bytes that were sent before. */
async function readBy(url: URL): Promise<void> {
  for (let i = 0; i < 3; i++) await fetch(new URL('/health', url)).then((answer) => answer.text())
}

async function descriptors(): Promise<number> {
  return (await readdir('/proc/self/fd').catch(() => [])).length
}

test('the next request of a connection begins when the answer before it is complete', async (t) => {
  const { node, begun, open, most, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const quick = Array.from({ length: 64 }, (_, i) => `/quick/${i}`)
  connection.send(rawRequest('GET', '/gate') + quick.map((path) => rawRequest('GET', path)).join(''))
  await started('/gate')
  await readBy(node.url)
  t.same(begun, ['/gate'])
  open()
  t.match(await connection.answer(), { status: 200, body: 'gate' })
  for (const path of quick) t.match(await connection.answer(), { status: 200, body: path })
  t.same(begun, ['/gate', ...quick])
  t.equal(most(), 1)
})

test('bodies in the queue reach their own requests', async (t) => {
  const { node, begun, open, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const chunked = { ...octets, 'transfer-encoding': 'chunked' }
  connection.send(rawRequest('GET', '/gate'))
  connection.send(rawRequest('PUT', '/upload/small', octets, 'abc'))
  connection.send(rawRequest('PUT', '/upload/large', octets, 'a'.repeat(32 * 1024)))
  connection.send(`${rawRequest('PUT', '/upload/chunked', chunked)}5\r\nabcde\r\n0\r\n\r\n`)
  connection.send(rawRequest('PUT', '/upload/late', { ...octets, 'content-length': '6' }, 'abc'))
  await started('/gate')
  await readBy(node.url)
  t.same(begun, ['/gate'])
  open()
  t.match(await connection.answer(), { status: 200, body: 'gate' })
  t.match(await connection.answer(), { status: 200, body: '{"bytes":3}' })
  t.match(await connection.answer(), { status: 200, body: `{"bytes":${32 * 1024}}` })
  t.match(await connection.answer(), { status: 200, body: '{"bytes":5}' })
  await started('/upload/late')
  connection.send(`def${rawRequest('GET', '/quick/last')}`)
  t.match(await connection.answer(), { status: 200, body: '{"bytes":6}' })
  t.match(await connection.answer(), { status: 200, body: '/quick/last' })
})

test('a request in the queue that waits for 100 Continue gets it in its turn', async (t) => {
  const { node, open, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const asking = { ...octets, expect: '100-continue', 'content-length': '3' }
  connection.send(rawRequest('GET', '/gate') + rawRequest('PUT', '/upload/asked', asking))
  await started('/gate')
  open()
  t.match(await connection.answer(), { status: 200, body: 'gate' })
  t.equal((await connection.answer()).status, 100)
  connection.send('abc')
  t.match(await connection.answer(), { status: 200, body: '{"bytes":3}' })
})

test('an upgrade behind queued requests begins after them', async (t) => {
  const { node, begun, open, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(
    rawRequest('GET', '/gate') + rawRequest('GET', '/quick/1') + rawRequest('GET', '/socket', upgrade),
  )
  await started('/gate')
  await readBy(node.url)
  t.same(begun, ['/gate'])
  open()
  t.match(await connection.answer(), { status: 200, body: 'gate' })
  t.match(await connection.answer(), { status: 200, body: '/quick/1' })
  t.equal((await connection.answer()).status, 101)
  t.same(begun, ['/gate', '/quick/1', '/socket'])
})

test('no queued request begins after its client disconnects', async (t) => {
  const { node, begun, open, shut, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const ten = Array.from({ length: 10 }, (_, i) => rawRequest('GET', `/quick/${i}`)).join('')
  const disconnect: Record<string, (connection: RawConnection) => void> = {
    'by closing': ({ close }) => close(),
    'by a reset': ({ socket }) => socket.resetAndDestroy(),
    'by closing its own side': ({ socket }) => socket.end(),
  }
  for (const [way, go] of Object.entries(disconnect)) {
    for (const last of [
      '',
      rawRequest('GET', '/socket', upgrade),
      rawRequest('PUT', '/upload/1', octets, 'a'.repeat(60_000)),
    ]) {
      begun.length = 0
      const connection = rawConnection(node.url)
      await once(connection.socket, 'connect')
      connection.send(rawRequest('GET', '/gate') + ten + last)
      await started('/gate')
      await readBy(node.url)
      go(connection)
      await connection.ended()
      await readBy(node.url)
      open()
      await readBy(node.url)
      shut()
      t.same(begun, ['/gate'], `${way}, with ${last.slice(0, 20)} behind them`)
    }
  }
})

test('a queue with more than 64 KiB of bodies closes the connection, and none of its requests begins', async (t) => {
  const { node, begun, open, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const half = 'a'.repeat(33 * 1024)
  const bodies = {
    'one body': rawRequest('PUT', '/upload/1', octets, 'a'.repeat(200_000)),
    'two bodies': rawRequest('PUT', '/upload/1', octets, half) + rawRequest('PUT', '/upload/2', octets, half),
    'a chunked body': `${rawRequest('PUT', '/upload/1', { ...octets, 'transfer-encoding': 'chunked' })}13880\r\n${'a'.repeat(80_000)}`,
  }
  for (const [name, queue] of Object.entries(bodies)) {
    begun.length = 0
    const connection = rawConnection(node.url)
    connection.send(rawRequest('GET', '/gate'))
    await started('/gate')
    connection.send(queue)
    await connection.ended()
    await readBy(node.url)
    t.same(begun, ['/gate'], name)
  }
  open()
})

test('a request to upgrade that has a body is refused, and its connection ends', async (t) => {
  const { node } = await startGatedNode()
  t.teardown(() => node.stop())
  for (const path of ['/quick/1', '/socket', '/nothing']) {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('GET', path, { ...upgrade, 'content-length': '5' }))
    await readBy(node.url)
    connection.send('hello')
    checkError(t, await connection.answer(), 'VALIDATION_ERROR')
    connection.socket.end()
    await connection.ended()
  }
})

test('a request that closes the connection is the last that begins', async (t) => {
  const { node, begun, open, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/gate') + rawRequest('PUT', '/nothing', octets, 'a'))
  connection.send(`${rawRequest('PUT', '/nothing', { ...octets, 'content-length': `${MiB}` })}abc`)
  await started('/gate')
  open()
  t.match(await connection.answer(), { status: 200, body: 'gate' })
  checkError(t, await connection.answer(), 'NOT_FOUND')
  const refused = await connection.answer()
  checkError(t, refused, 'NOT_FOUND')
  t.equal(refused.headers.connection, 'close')
  connection.socket.end()
  t.equal(await connection.ended(), '')
  t.same(begun, ['/gate'])
})

test('a connection with more than 64 waiting requests is closed, and none of them begins', async (t) => {
  const { node, begun, started } = await startGatedNode()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/gate') + rawRequest('GET', '/quick/1').repeat(65))
  t.equal(await connection.ended(), '')
  t.same(begun, ['/gate'])
  const patient = rawConnection(node.url)
  t.teardown(() => patient.close())
  begun.length = 0
  patient.send(rawRequest('GET', '/gate') + rawRequest('GET', '/quick/1').repeat(64))
  await started('/gate')
  await readBy(node.url)
  t.equal(patient.socket.closed, false)
})

test('a flood of pipelined requests neither delays other clients nor leaks descriptors', async (t) => {
  const { node, begun } = await startGatedNode()
  t.teardown(() => node.stop())
  const floods = [
    rawRequest('GET', '/quick/1').repeat(20_000),
    rawRequest('GET', '/gate').repeat(5000),
    rawRequest('GET', '/gate') + rawRequest('PUT', '/upload/1', octets, 'a').repeat(10_000),
  ]
  await readBy(node.url)
  const before = await descriptors()
  for (const flood of floods) {
    begun.length = 0
    const connection = rawConnection(node.url)
    connection.socket.on('data', () => {})
    connection.send(flood)
    const asked = performance.now()
    await readBy(node.url)
    const ms = performance.now() - asked
    t.ok(ms < 1500, `three answers of /health took ${Math.round(ms)} ms`)
    await connection.ended()
    t.ok(begun.length <= 66, `${begun.length} requests began`)
  }
  await until(async () => (await descriptors()) <= before + 2)
  t.pass('all descriptors are closed')
})

test('300 connections with full queues take little memory and release it', async (t) => {
  const { node, begun, open } = await startGatedNode()
  t.teardown(() => node.stop())
  const before = process.memoryUsage().rss
  const full = Array.from({ length: 300 }, () => rawConnection(node.url))
  for (const { send } of full) send(rawRequest('GET', '/gate') + rawRequest('GET', '/quick/1').repeat(64))
  await until(() => begun.length >= full.length)
  await readBy(node.url)
  const grown = (process.memoryUsage().rss - before) / MiB
  t.ok(grown < 90, `with the clients in it, the process has grown by ${Math.round(grown)} MiB`)
  for (const { close } of full) close()
  await Promise.all(full.map(({ ended }) => ended()))
  await readBy(node.url)
  await wait(50)
  open()
  await readBy(node.url)
  t.equal(begun.length, full.length, 'no request that waited has begun')
})
