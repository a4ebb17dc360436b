import { once } from 'node:events'
import { connect } from 'node:net'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'
import { startSwitchNode } from './switch-node.ts'

/** A plugin whose requests wait, and what happened to it. */
function createSlow() {
  const happened: string[] = []
  const gate = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  let arrived = Promise.withResolvers<void>()
  const arrive = () => {
    arrived.resolve()
    arrived = Promise.withResolvers()
  }
  const plugin = definePlugin({
    id: 'slow',
    setup({ routes, onStop, signal }) {
      signal.addEventListener('abort', () => {
        happened.push('told')
        told.resolve()
      })
      onStop(() => void happened.push('stopped'))
      routes((app) => {
        app.get('/slow', async () => {
          arrive()
          await gate.promise
          happened.push('answered')
          return 'done'
        })
        app.get('/never', () => {
          arrive()
          return new Promise(() => {})
        })
        app.get('/drip', (_request, reply) => {
          reply.hijack()
          reply.raw.writeHead(200, { 'content-type': 'text/plain' })
          reply.raw.write('drip')
          arrive()
        })
        app.get('/events', (_request, reply) => {
          reply.hijack()
          reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
          reply.raw.write(': hello\n\n')
          signal.addEventListener('abort', () => reply.raw.end('event: bye\ndata: 1\n\n'))
          arrive()
        })
      })
    },
  })
  return { plugin, happened, gate, told: told.promise, nextArrival: () => arrived.promise }
}

test('a request that runs is answered before the plugin stops', async (t) => {
  const slow = createSlow()
  const { ask, turn } = await startSwitchNode(t, [slow.plugin])
  const arrival = slow.nextArrival()
  const answer = ask('/slow')
  await arrival
  const off = turn('slow', 'disable')
  await slow.told
  t.equal((await ask('/slow')).status, 404, 'it takes no more')
  t.same(slow.happened, ['told'], 'it knows, but goes on')
  slow.gate.resolve()
  t.equal(await (await answer).text(), 'done')
  t.equal((await off).status, 200)
  t.same(slow.happened, ['told', 'answered', 'stopped'])
})

test('a request that takes longer than the node waits is answered with an error', async (t) => {
  const slow = createSlow()
  const config = { plugins: { slow: { required: false } }, server: { drainSeconds: 0.2 } }
  const { ask, turn, state } = await startSwitchNode(t, [slow.plugin], { config })
  const arrival = slow.nextArrival()
  const never = ask('/never')
  await arrival
  const drip = await ask('/drip')
  await turn('slow', 'disable')
  const refused = await never
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '5')
  t.ok(refused.headers.get('x-request-id'))
  t.match(await refused.json(), { error: true, code: 'SERVICE_UNAVAILABLE', message: /was stopped/ })
  await t.rejects(drip.text(), 'what had begun is cut')
  t.match(state('slow'), { state: 'disabled' })
  await turn('slow', 'enable')
  t.match(state('slow'), { state: 'active' })
})

test('long answers that watch the signal end by themselves', async (t) => {
  const slow = createSlow()
  const { ask, turn } = await startSwitchNode(t, [slow.plugin])
  const events = await ask('/events')
  const [text, off] = await Promise.all([events.text(), turn('slow', 'disable')])
  t.match(text, /event: bye/)
  t.equal(off.status, 200)
})

test('a client that has left does not delay the stop', async (t) => {
  const slow = createSlow()
  const { ask, turn } = await startSwitchNode(t, [slow.plugin])
  const leaving = new AbortController()
  const arrival = slow.nextArrival()
  const left = ask('/never', { signal: leaving.signal })
  await arrival
  leaving.abort()
  await t.rejects(left)
  t.equal((await turn('slow', 'disable')).status, 200)
})

test('a WebSocket whose client stays is cut at the time limit', async (t) => {
  const sticky = definePlugin({
    id: 'sticky',
    setup({ routes }) {
      routes(
        (app) => {
          const config = { access: 'public', publicReason: 'a test' } as const
          app.get('/stick', { websocket: true, config }, (socket) => socket.send('welcome'))
        },
        { webSockets: true },
      )
    },
  })
  const config = { plugins: { sticky: { required: false } }, server: { drainSeconds: 0.2 } }
  const { node, turn, state } = await startSwitchNode(t, [sticky], { config })
  const socket = connect(Number(node.url.port), node.url.hostname)
  t.teardown(() => socket.destroy())
  const key = Buffer.alloc(16).toString('base64')
  socket.write(
    `GET /stick HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.resume()
  const closed = once(socket, 'close')
  await turn('sticky', 'disable')
  await closed
  t.match(state('sticky'), { state: 'disabled' })
})

test('of pipelined requests, the one that runs is ended, and those behind it never begin', async (t) => {
  const slow = createSlow()
  const config = { plugins: { slow: { required: false } }, server: { drainSeconds: 0.2 } }
  const { node, token, turn, state } = await startSwitchNode(t, [slow.plugin], { config })
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const headers = { authorization: `Bearer ${token}` }
  const arrival = slow.nextArrival()
  connection.send(rawRequest('GET', '/never', headers) + rawRequest('GET', '/slow', headers))
  await arrival
  await turn('slow', 'disable')
  t.equal((await connection.answer()).status, 503)
  t.equal(await connection.ended(), '')
  t.match(state('slow'), { state: 'disabled' })
  t.notOk(slow.happened.includes('answered'))
})

test('a request that waits behind another plugin’s has not begun, so its plugin stops at once', async (t) => {
  const slow = createSlow()
  const quick = definePlugin({
    id: 'quick',
    setup({ routes }) {
      routes((app) => void app.get('/quick', async () => 'quick'))
    },
  })
  const optional = { slow: { required: false }, quick: { required: false } }
  const config = { plugins: optional, server: { drainSeconds: 0.2 } }
  const { node, token, turn, state } = await startSwitchNode(t, [slow.plugin, quick], { config })
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const headers = { authorization: `Bearer ${token}` }
  const arrival = slow.nextArrival()
  connection.send(rawRequest('GET', '/slow', headers) + rawRequest('GET', '/quick', headers))
  await arrival
  await turn('quick', 'disable')
  t.match(state('quick'), { state: 'disabled' })
  slow.gate.resolve()
  t.match(await connection.answer(), { status: 200, body: 'done' })
  t.match(await connection.answer(), { status: 404, body: '"code":"NOT_FOUND"' })
})

test('an injected request that is answered does not delay the stop', async (t) => {
  const asking = definePlugin({
    id: 'asking',
    setup({ routes }) {
      routes((app) => {
        app.get('/asked', async () => 'asked')
        app.get('/asking', async (request) => {
          const { authorization = '' } = request.headers
          return (await app.inject({ url: '/asked', headers: { authorization } })).body
        })
      })
    },
  })
  const { ask, turn, state } = await startSwitchNode(t, [asking])
  t.equal(await (await ask('/asking')).text(), 'asked')
  await turn('asking', 'disable')
  t.match(state('asking'), { state: 'disabled' })
})
