import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import t, { test } from 'tap'
import { until } from '../state/fixtures/until.ts'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest, sendSlowly } from './fixtures/raw-connection.ts'

const octets = { 'content-type': 'application/octet-stream' }
const shortTimeouts = { server: { bodyTimeoutSeconds: 0.4 } }

// The tests run concurrently, because they mostly wait.
t.jobs = 5

test('headers that arrive slowly or never time out', async (t) => {
  const config = { server: { headersTimeoutSeconds: 0.5 } }
  const node = await createTestNode({ plugins: [probe], config })
  t.teardown(() => node.stop())
  const slowloris = Array.from({ length: 20 }, () => rawConnection(node.url))
  const silent = rawConnection(node.url)
  const trickle = setInterval(() => {
    for (const connection of slowloris) if (connection.socket.writable) connection.send('x-a: b\r\n')
  }, 50)
  t.teardown(() => clearInterval(trickle))
  for (const connection of slowloris) connection.send('GET /open HTTP/1.1\r\nhost: a\r\n')
  for (const connection of slowloris) {
    checkError(t, await connection.answer(), 'REQUEST_TIMEOUT')
    connection.socket.end()
    await connection.ended()
  }
  checkError(t, await silent.answer(), 'REQUEST_TIMEOUT', 'a silent connection')
  silent.close()
  t.equal((await node.fetch('/health')).status, 200)
})

test('a buffered body that arrives slowly times out', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({
    plugins: [probe],
    config: shortTimeouts,
    onLog: (line) => lines.push(line),
  })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  const headers = { 'content-type': 'application/json', 'content-length': '1000' }
  connection.send(rawRequest('POST', '/json', headers, '['))
  const trickle = setInterval(() => connection.socket.writable && connection.send('1,'), 50)
  const answer = await connection.answer()
  clearInterval(trickle)
  checkError(t, answer, 'REQUEST_TIMEOUT')
  t.equal(answer.headers.connection, 'close')
  connection.socket.end()
  t.equal(await connection.ended(), '')
  t.notMatch(lines.join(''), /"level":"(warn|error)"/)
})

test('a slow body times out even behind a request that is admitted late', async (t) => {
  const waiting = definePlugin({
    id: 'waiting',
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'A test.' } as const
        app.post('/at-once', { config }, async () => 'at once')
        app.post('/late', { config, onRequest: () => wait(20) }, async () => 'late')
      })
    },
  })
  const node = await createTestNode({ plugins: [waiting], config: shortTimeouts })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  const json = { 'content-type': 'application/json' }
  const whole = rawRequest('POST', '/late', { ...json, 'content-length': '2' }, '{}')
  connection.send(`${whole}${rawRequest('POST', '/at-once', { ...json, 'content-length': '1000' }, '[')}`)
  const trickle = setInterval(() => connection.socket.writable && connection.send('1,'), 50)
  t.teardown(() => clearInterval(trickle))
  t.equal((await connection.answer()).status, 200)
  checkError(t, await connection.answer(), 'REQUEST_TIMEOUT')
  connection.close()
})

test('a streamed body may be slow, but times out when it stalls', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({
    plugins: [probe],
    config: shortTimeouts,
    onLog: (line) => lines.push(line),
  })
  t.teardown(() => node.stop())
  const steady = await until(async () => {
    const connection = rawConnection(node.url)
    t.teardown(() => connection.close())
    connection.send(rawRequest('POST', '/upload', { ...octets, 'content-length': '20' }))
    return (await sendSlowly(connection, { bytes: 20, everyMs: 50, limitMs: 400 })) ? connection : null
  })
  t.match(await steady.answer(), { status: 200, body: '{"bytes":20}' }, 'more than twice the limit in all')

  const stalled = rawConnection(node.url)
  stalled.send(rawRequest('POST', '/upload', { ...octets, 'content-length': '20' }, 'abc'))
  checkError(t, await stalled.answer(), 'REQUEST_TIMEOUT')
  stalled.socket.end()
  t.equal(await stalled.ended(), '')
  t.notMatch(lines.join(''), /"level":"(warn|error)"/)
})

test('a route that never reads a stalled body does not hold the connection', async (t) => {
  const never = definePlugin({
    id: 'never',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, _payload, done) => done(null))
        const config = { access: 'public', publicReason: 'A test.', body: 'stream' } as const
        app.post('/never', { config }, () => new Promise(() => {}))
      })
    },
  })
  const node = await createTestNode({ plugins: [never], config: shortTimeouts })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('POST', '/never', { ...octets, 'content-length': '20' }, 'abc'))
  t.equal(await connection.ended(), '')
})

test('a client does not time out because its route stalls', async (t) => {
  const opened = Promise.withResolvers<void>()
  const lazy = definePlugin({
    id: 'lazy',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
        const config = { access: 'public', publicReason: 'A test.', body: 'stream' } as const
        app.post('/lazy', { config }, async ({ body }) => {
          await opened.promise
          let bytes = 0
          for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length
          return { bytes }
        })
        app.get('/pause', { config }, async () => {
          await wait(1000)
          return { paused: true }
        })
      })
    },
  })
  const node = await createTestNode({ plugins: [lazy], config: shortTimeouts })
  t.teardown(() => node.stop())
  const upload = rawConnection(node.url)
  t.teardown(() => upload.close())
  upload.send(rawRequest('POST', '/lazy', octets, 'a'.repeat(1024 * 1024)))

  const odd = rawConnection(node.url)
  t.teardown(() => odd.close())
  odd.send(rawRequest('GET', '/pause', octets, 'a body that is not read'))
  t.match(await odd.answer(), { status: 200, body: '{"paused":true}' }, 'twice the limit later')

  opened.resolve()
  t.match(await upload.answer(), { status: 200, body: '{"bytes":1048576}' })
})
