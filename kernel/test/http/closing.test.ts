import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const json = { 'content-type': 'application/json' }
const chunked = { 'transfer-encoding': 'chunked' }

/** Offers of other protocols that the node ignores. */
const offers = {
  'h2c, as curl --http2 sends it': ['GET', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' }, ''],
  'TLS in the same connection': ['GET', { connection: 'Upgrade', upgrade: 'TLS/1.0' }, ''],
  'several protocols': ['GET', { connection: 'Upgrade', upgrade: 'websocket, h2c' }, ''],
  'a WebSocket with the wrong method': [
    'POST',
    { ...json, connection: 'Upgrade', upgrade: 'websocket' },
    '{"a":1}',
  ],
  'h2c with a body': ['POST', { ...json, connection: 'Upgrade', upgrade: 'h2c' }, '{"a":1}'],
} as const

test('a request with an ignored Upgrade is answered, and is the last of its connection', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  for (const [name, [method, headers, body]] of Object.entries(offers)) {
    const path = method === 'GET' ? '/open' : '/json'
    const behind = rawRequest('POST', '/upload', { 'content-length': '60' })
    const connection = rawConnection(node.url)
    connection.send(rawRequest(method, path, headers, body) + behind)
    const answer = await connection.answer()
    t.equal(answer.status, 200, name)
    if (method === 'POST') t.equal(answer.body, '{"body":{"a":1}}', `${name}: its own body is read`)
    t.equal(answer.headers.connection, 'close', `${name}: the answer says that the connection closes`)
    connection.send(rawRequest('GET', '/smuggled'))
    connection.socket.end()
    t.equal(await connection.ended(), '', `${name}: bytes of the next request are not taken for a request`)
  }
})

test('an ignored Upgrade behind other requests does not change their answers', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  const offer = rawRequest('GET', '/nothing', { connection: 'Upgrade', upgrade: 'h2c' })
  connection.send(
    rawRequest('GET', '/slow') + offer + rawRequest('POST', '/upload', { 'content-length': '60' }),
  )
  t.match(await connection.answer(), {
    status: 200,
    body: '{"slow":true}',
    headers: { connection: 'keep-alive' },
  })
  connection.send(rawRequest('GET', '/smuggled'))
  const answer = await connection.answer()
  checkError(t, answer, 'NOT_FOUND')
  t.notMatch(answer.body, 'smuggled')
  t.equal(answer.headers.connection, 'close')
  connection.socket.end()
  t.equal(await connection.ended(), '')
})

test('an answer that closes the connection says so, and another one does not', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const chunk = 'c\r\nhello, world\r\n0\r\n\r\n'
  const requests = {
    'GET with a chunked body': rawRequest('GET', '/open', chunked) + chunk,
    'GET with the begin of a chunked body': `${rawRequest('GET', '/open', chunked)}c\r\nhel`,
    'GET with a small body': rawRequest('GET', '/open', json, '{}'),
    'GET with a large body': `${rawRequest('GET', '/open', { ...json, 'content-length': '100000' })}{`,
    'HEAD with a chunked body': rawRequest('HEAD', '/open', chunked) + chunk,
    'a body that its route does not read': `${rawRequest('POST', '/ignored', { ...chunked, 'content-type': 'application/octet-stream' })}c\r\nhel`,
    'bad JSON': rawRequest('POST', '/json', json, '{'),
    'bad JSON in chunks': `${rawRequest('POST', '/json', { ...json, ...chunked })}1\r\n{\r\n0\r\n\r\n`,
    'bad JSON and "connection: close"': rawRequest('POST', '/json', { ...json, connection: 'close' }, '{'),
    'bad JSON in HTTP/1.0': rawRequest('POST', '/json', json, '{').replace('HTTP/1.1', 'HTTP/1.0'),
    'bad JSON in HTTP/1.0 with keep-alive': rawRequest(
      'POST',
      '/json',
      { ...json, connection: 'keep-alive' },
      '{',
    ).replace('HTTP/1.1', 'HTTP/1.0'),
    'nothing there and "connection: close"': rawRequest('GET', '/nothing', { connection: 'close' }),
    'nothing there in HTTP/1.0': rawRequest('GET', '/nothing').replace('HTTP/1.1', 'HTTP/1.0'),
    'no user in HTTP/1.0': rawRequest('GET', '/mine').replace('HTTP/1.1', 'HTTP/1.0'),
  }
  for (const [name, request] of Object.entries(requests)) {
    const connection = rawConnection(node.url)
    connection.send(request)
    const { headers } = await connection.answer(request.startsWith('HEAD') ? 'HEAD' : 'GET')
    t.match(headers.connection, /^(close|keep-alive)$/, `${name}: ${headers.connection}`)
    if (headers.connection === 'close') {
      connection.socket.end()
      t.equal(await connection.ended(), '', `${name}: the connection closes`)
    } else {
      connection.send(rawRequest('GET', '/query?next'))
      t.match(
        await connection.answer(),
        { status: 200, body: '{"query":{"next":""}}' },
        `${name}: it goes on`,
      )
      connection.close()
    }
  }
})
