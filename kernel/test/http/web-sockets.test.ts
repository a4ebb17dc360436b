import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type ErrorCode } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const open = { access: 'public', publicReason: 'It is there for a test.' } as const
const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

const sockets = definePlugin({
  id: 'sockets',
  setup({ routes }) {
    routes(
      (app) => {
        app.get('/plain', { config: open }, async () => ({ plain: true }))
        app.get('/slow', { config: open }, () => delay(100, { slow: true }))
        app.get('/echo', { websocket: true, config: open }, (socket) => {
          socket.on('message', (message: Buffer) => socket.send(String(message)))
        })
        app.get('/mine', { websocket: true }, (socket, { user }) => socket.send(user?.username ?? ''))
        app.get('/owner', { websocket: true, config: { access: 'owner' } }, (socket) => socket.send('hello'))
      },
      { webSockets: true },
    )
  },
})

test('a handshake that fails gets a documented error', async (t) => {
  const node = await createTestNode({ plugins: [sockets] })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const bearer = { authorization: `Bearer ${token}` }
  const cookie = { cookie: `session=${token}` }
  const refused: readonly (readonly [string, string, Record<string, string>, ErrorCode])[] = [
    ['an unknown path', '/nothing', {}, 'NOT_FOUND'],
    ['a route of the kernel', '/whoami', {}, 'NOT_FOUND'],
    ['an ordinary route of the plugin', '/plain', {}, 'NOT_FOUND'],
    ['no session', '/mine', {}, 'UNAUTHORIZED'],
    ['not the owner', '/owner', bearer, 'FORBIDDEN'],
    ['a page of another site', '/mine', { ...cookie, origin: 'https://evil.test' }, 'FORBIDDEN'],
    [
      'a page that the browser calls foreign',
      '/mine',
      { ...cookie, 'sec-fetch-site': 'cross-site' },
      'FORBIDDEN',
    ],
    ['a page without origin', '/mine', { ...cookie, origin: 'null' }, 'FORBIDDEN'],
    ['a broken key', '/echo', { 'sec-websocket-key': 'no' }, 'VALIDATION_ERROR'],
    ['another version', '/echo', { 'sec-websocket-version': '7' }, 'VALIDATION_ERROR'],
  ]
  for (const [name, path, headers, code] of refused) {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('GET', path, { ...handshake, ...headers }))
    checkError(t, await connection.answer(), code, name)
    connection.socket.end()
    t.equal(await connection.ended(), '', `${name}: nothing follows`)
  }
  t.equal((await node.fetch('/plain')).status, 200)
})

test('an upgrade waits for the answers to the requests before it', async (t) => {
  const node = await createTestNode({ plugins: [sockets] })
  t.teardown(() => node.stop())
  const before = rawRequest('GET', '/slow') + rawRequest('GET', '/plain')
  for (const [name, request, status] of [
    ['a WebSocket', rawRequest('GET', '/echo', handshake), 101],
    ['no session', rawRequest('GET', '/mine', handshake), 401],
    ['no WebSocket', rawRequest('GET', '/nothing', handshake), 404],
    ['a tunnel', rawRequest('CONNECT', 'node.test:80'), 405],
  ] as const) {
    const connection = rawConnection(node.url)
    connection.send(before + request)
    t.match(await connection.answer(), { status: 200, body: '{"slow":true}' }, name)
    t.match(await connection.answer(), { status: 200, body: '{"plain":true}' }, name)
    t.equal((await connection.answer()).status, status, name)
    connection.close()
  }
})

test('a WebSocket route refuses ordinary requests, and other upgrades are ignored', async (t) => {
  const node = await createTestNode({ plugins: [sockets] })
  t.teardown(() => node.stop())
  const ask = async (request: string) => {
    const connection = rawConnection(node.url)
    t.teardown(() => connection.close())
    connection.send(request)
    return connection.answer()
  }
  checkError(t, await ask(rawRequest('GET', '/echo')), 'VALIDATION_ERROR', 'GET without an upgrade')
  checkError(
    t,
    await ask(rawRequest('POST', '/echo', handshake)),
    'METHOD_NOT_ALLOWED',
    'POST with an upgrade',
  )
  const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQCAAAA' }
  t.match(
    await ask(rawRequest('GET', '/plain', h2c)),
    { status: 200, body: '{"plain":true}' },
    'curl --http2 sends this upgrade',
  )
})

test('a signed-in user opens a WebSocket from the node’s own page or from outside a browser', async (t) => {
  const node = await createTestNode({ plugins: [sockets] })
  t.teardown(() => node.stop())
  const { token, user } = await node.signIn()
  const cookie = { cookie: `session=${token}` }
  for (const headers of [
    { authorization: `Bearer ${token}`, origin: 'https://evil.test' },
    { ...cookie, origin: 'http://node.test' },
    { ...cookie, origin: 'http://node.test', 'sec-fetch-site': 'same-origin' },
    cookie,
  ]) {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('GET', '/mine', { ...handshake, ...headers }))
    t.equal((await connection.answer()).status, 101)
    connection.socket.end()
    t.match(await connection.ended(), user.username)
  }
})

test('an oversized message or a broken frame ends only its own connection', async (t) => {
  const node = await createTestNode({ plugins: [sockets] })
  t.teardown(() => node.stop())
  const url = new URL('/echo', node.url).href.replace('http', 'ws')
  const other = new WebSocket(url)
  t.teardown(() => other.close())
  await event(other, 'open')

  const large = new WebSocket(url)
  await event(large, 'open')
  large.send('a'.repeat(1024 * 1024 + 1))
  t.equal(((await event(large, 'close')) as CloseEvent).code, 1009)

  const garbage = rawConnection(node.url)
  garbage.send(rawRequest('GET', '/echo', handshake))
  t.equal((await garbage.answer()).status, 101)
  garbage.send(Buffer.from([0xff, 0xff, 0xff, 0xff]))
  await garbage.ended()

  other.send('still here')
  t.equal(((await event(other, 'message')) as MessageEvent).data, 'still here')
})

function event(socket: WebSocket, name: string): Promise<Event> {
  return new Promise((resolve) => socket.addEventListener(name, resolve, { once: true }))
}

test('a fault in the code of a WebSocket cuts its connection without an HTTP answer', async (t) => {
  const faulty = definePlugin({
    id: 'faulty',
    setup({ routes }) {
      routes(
        (app) => {
          app.get('/fault', { websocket: true, config: open }, () => {
            setImmediate(() => {
              throw new Error('a fault')
            })
          })
        },
        { webSockets: true },
      )
    },
  })
  const node = await createTestNode({ plugins: [faulty] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/fault', handshake))
  const received = await connection.ended()
  t.match(received, /^HTTP\/1\.1 101 /)
  t.equal(received.split('HTTP/1.1').length, 2, 'nothing follows the handshake')
})
