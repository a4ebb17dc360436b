import { once } from 'node:events'
import { connect } from 'node:net'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'
import { startSwitchNode } from './switch-node.ts'

/** Creates a plugin whose requests wait, and a record of its stop. */
function createSlow() {
  const happened: string[] = []
  const gate = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  let arrived = Promise.withResolvers<void>()
  const arrive = () => {
    arrived.resolve()
    arrived = Promise.withResolvers()
  }
  const plugin = definePlugin({
    id: 'slow',
    setup({ routes, onStop, signal }) {
      signal.addEventListener('abort', () => {
        happened.push('aborted')
        aborted.resolve()
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
  return { plugin, happened, gate, aborted: aborted.promise, nextArrival: () => arrived.promise }
}

test('a plugin stops after its open requests have their answers', async (t) => {
  const slow = createSlow()
  const { ask, switchPlugin } = await startSwitchNode(t, [slow.plugin])
  const arrival = slow.nextArrival()
  const answer = ask('/slow')
  await arrival
  const off = switchPlugin('slow', 'disable')
  await slow.aborted
  t.equal((await ask('/slow')).status, 404, 'the plugin gets no new requests')
  t.same(slow.happened, ['aborted'], 'the signal is aborted, and the request continues')
  slow.gate.resolve()
  t.equal(await (await answer).text(), 'done')
  t.equal((await off).status, 200)
  t.same(slow.happened, ['aborted', 'answered', 'stopped'])
})

test('a request that exceeds the drain time gets an error', async (t) => {
  const slow = createSlow()
  const config = { plugins: { slow: { required: false } }, server: { drainSeconds: 0.2 } }
  const { ask, switchPlugin, state } = await startSwitchNode(t, [slow.plugin], { config })
  const arrival = slow.nextArrival()
  const never = ask('/never')
  await arrival
  const drip = await ask('/drip')
  await switchPlugin('slow', 'disable')
  const refused = await never
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '5')
  t.ok(refused.headers.get('x-request-id'))
  t.match(await refused.json(), { error: true, code: 'SERVICE_UNAVAILABLE', message: /was stopped/ })
  await t.rejects(drip.text(), 'the node cuts an answer that has begun')
  t.match(state('slow'), { state: 'disabled' })
  await switchPlugin('slow', 'enable')
  t.match(state('slow'), { state: 'active' })
})

test('a request whose body is still on its way gets an error, also if its route never reads it', async (t) => {
  const deaf = definePlugin({
    id: 'deaf',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
        const config = { access: 'public', publicReason: 'a test', body: 'stream' } as const
        app.put('/deaf', { config }, () => {
          arrived.resolve()
          return new Promise(() => {})
        })
      })
    },
  })
  const arrived = Promise.withResolvers<void>()
  const config = { plugins: { deaf: { required: false } }, server: { drainSeconds: 0.2 } }
  const { node, switchPlugin } = await startSwitchNode(t, [deaf], { config })
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const headers = { 'content-type': 'application/octet-stream', 'content-length': '9' }
  connection.send(`${rawRequest('PUT', '/deaf', headers)}body`)
  await arrived.promise
  t.equal((await switchPlugin('deaf', 'disable')).status, 200)
  t.equal((await connection.answer()).status, 503)
  t.equal(await connection.ended(), '')
})

test('a long answer ends when its route handles the signal', async (t) => {
  const slow = createSlow()
  const { ask, switchPlugin } = await startSwitchNode(t, [slow.plugin])
  const events = await ask('/events')
  const [text, off] = await Promise.all([events.text(), switchPlugin('slow', 'disable')])
  t.match(text, /event: bye/)
  t.equal(off.status, 200)
})

test('a client that disconnected does not delay the stop', async (t) => {
  const slow = createSlow()
  const { ask, switchPlugin } = await startSwitchNode(t, [slow.plugin])
  const leaving = new AbortController()
  const arrival = slow.nextArrival()
  const left = ask('/never', { signal: leaving.signal })
  await arrival
  leaving.abort()
  await t.rejects(left)
  t.equal((await switchPlugin('slow', 'disable')).status, 200)
})

test('the node cuts a WebSocket whose client stays at the time limit', async (t) => {
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
  const { node, switchPlugin, state } = await startSwitchNode(t, [sticky], { config })
  const socket = connect(Number(node.url.port), node.url.hostname)
  t.teardown(() => socket.destroy())
  const key = Buffer.alloc(16).toString('base64')
  socket.write(
    `GET /stick HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.resume()
  const closed = once(socket, 'close')
  await switchPlugin('sticky', 'disable')
  await closed
  t.match(state('sticky'), { state: 'disabled' })
})

test('a stop ends the running one of several pipelined requests, and the others never begin', async (t) => {
  const slow = createSlow()
  const config = { plugins: { slow: { required: false } }, server: { drainSeconds: 0.2 } }
  const { node, token, switchPlugin, state } = await startSwitchNode(t, [slow.plugin], { config })
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const headers = { authorization: `Bearer ${token}` }
  const arrival = slow.nextArrival()
  connection.send(rawRequest('GET', '/never', headers) + rawRequest('GET', '/slow', headers))
  await arrival
  await switchPlugin('slow', 'disable')
  t.equal((await connection.answer()).status, 503)
  t.equal(await connection.ended(), '')
  t.match(state('slow'), { state: 'disabled' })
  t.notOk(slow.happened.includes('answered'))
})

test('a request that waits behind a request to another plugin does not delay the stop', async (t) => {
  const slow = createSlow()
  const quick = definePlugin({
    id: 'quick',
    setup({ routes }) {
      routes((app) => void app.get('/quick', async () => 'quick'))
    },
  })
  const optional = { slow: { required: false }, quick: { required: false } }
  const config = { plugins: optional, server: { drainSeconds: 0.2 } }
  const { node, token, switchPlugin, state } = await startSwitchNode(t, [slow.plugin, quick], { config })
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const headers = { authorization: `Bearer ${token}` }
  const arrival = slow.nextArrival()
  connection.send(rawRequest('GET', '/slow', headers) + rawRequest('GET', '/quick', headers))
  await arrival
  await switchPlugin('quick', 'disable')
  t.match(state('quick'), { state: 'disabled' })
  slow.gate.resolve()
  t.match(await connection.answer(), { status: 200, body: 'done' })
  t.match(await connection.answer(), { status: 404, body: '"code":"NOT_FOUND"' })
})

test('an answered injected request does not delay the stop', async (t) => {
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
  const { ask, switchPlugin, state } = await startSwitchNode(t, [asking])
  t.equal(await (await ask('/asking')).text(), 'asked')
  await switchPlugin('asking', 'disable')
  t.match(state('asking'), { state: 'disabled' })
})
