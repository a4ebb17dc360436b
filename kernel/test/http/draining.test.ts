import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const octets = { 'content-type': 'application/octet-stream', 'content-length': '1000000' }

/** Starts a node that waits for 100 ms when it stops, with routes that never answer. */
async function start(t: Test) {
  const arrived = Promise.withResolvers<void>()
  const config = { access: 'public', publicReason: 'a test' } as const
  const never = definePlugin({
    id: 'never',
    setup({ routes }) {
      routes((app) => {
        app.get('/never', { config }, () => {
          arrived.resolve()
          return new Promise(() => {})
        })
        app.get('/begun', { config }, (_request, reply) => {
          reply.hijack()
          reply.raw.writeHead(200, { 'content-type': 'text/plain' })
          reply.raw.write('begun')
          arrived.resolve()
        })
      })
    },
  })
  const node = await createTestNode({ plugins: [probe, never], config: { server: { drainSeconds: 0.1 } } })
  t.teardown(() => node.stop())
  return { node, arrived: arrived.promise }
}

test('an upload that outlasts the time of a stop is refused with an answer', async (t) => {
  const { node } = await start(t)
  const connection = rawConnection(node.url)
  connection.send(rawRequest('POST', '/upload', { ...octets, expect: '100-continue' }))
  t.equal((await connection.answer()).status, 100, 'the route reads the body')
  connection.send('the first bytes')
  const [answer] = await Promise.all([connection.answer(), node.stop()])
  checkError(t, answer, 'SERVICE_UNAVAILABLE')
  t.match(answer.headers, { connection: 'close', 'retry-after': '5' })
  t.equal(await connection.ended(), '')
})

test('a request whose answer has not begun is refused with an answer', async (t) => {
  const { node, arrived } = await start(t)
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/never') + rawRequest('GET', '/open'))
  await arrived
  const [answer] = await Promise.all([connection.answer(), node.stop()])
  checkError(t, answer, 'SERVICE_UNAVAILABLE')
  t.equal(answer.headers.connection, 'close')
  t.equal(await connection.ended(), '', 'the request behind it never begins')
})

test('an answer that has begun is cut off', async (t) => {
  const { node, arrived } = await start(t)
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/begun'))
  await arrived
  await node.stop()
  t.match(await connection.ended(), /^HTTP\/1\.1 200 [\s\S]*begun/)
})
