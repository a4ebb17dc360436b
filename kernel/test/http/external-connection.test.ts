import { PassThrough } from 'node:stream'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type ClientConnection, definePlugin, PublicOrigins } from '@nodekeep/plugin-sdk'
import t, { type Test, test } from 'tap'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'
import { checkError } from './fixtures/error-answer.ts'
import { createHanding, type Handing, ways } from './fixtures/handing-plugin.ts'
import { rawRequest } from './fixtures/raw-connection.ts'

const open = { access: 'public', publicReason: 'It is there for a test.' } as const
const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}
/** A close frame of a client, with an empty mask (RFC 6455). */
const closeFrame = Buffer.from([0x88, 0x80, 0, 0, 0, 0])
const forged = {
  forwarded: 'for=198.51.100.7;proto=https;host=forged.test',
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-host': 'forged.test',
  'x-forwarded-proto': 'https',
}
const tls = { encrypted: true, serverName: 'me.example.org' }

// The tests run concurrently, because they mostly wait.
t.jobs = 3

/** A plugin that tells what it knows about a request. */
const telling = definePlugin({
  id: 'telling',
  setup({ routes }) {
    routes(
      (app) => {
        app.get('/facts', { config: open }, async ({ ip, protocol, host, headers, socket }) => {
          const names = Object.keys(headers).filter((name) => name.includes('forwarded'))
          const { remotePort, remoteFamily } = socket
          return { ip, protocol, host, names, remotePort, remoteFamily }
        })
        app.get(
          '/once',
          { config: { ...open, rateLimit: { max: 1, timeWindow: 60_000 } } },
          async () => 'once',
        )
        app.get('/socket', { config: open, websocket: true }, (socket, { ip, protocol }) => {
          socket.send(`${ip} ${protocol}`)
        })
      },
      { webSockets: true },
    )
  },
})

test('a request has the address and the scheme of its client, whatever its headers say', async (t) => {
  for (const way of ways) {
    for (const trustedProxies of [[], ['127.0.0.1', '203.0.113.0/24', '2001:db8::/32']]) {
      const handing = createHanding(t, way)
      const node = await createTestNode({
        plugins: [telling, handing.plugin],
        config: { server: { trustedProxies } },
      })
      const clients = [
        { remoteAddress: '203.0.113.7', remotePort: 40_001, encrypted: false },
        { remoteAddress: '2001:db8::7', remotePort: 40_002, encrypted: true },
      ]
      for (const client of clients) {
        const { remoteAddress: ip, remotePort, encrypted } = client
        const connection = await handing.connect(client)
        const protocol = encrypted ? 'https' : 'http'
        for (let i = 0; i < 2; i++) {
          connection.send(rawRequest('GET', '/facts', forged))
          t.strictSame(
            JSON.parse((await connection.answer()).body),
            {
              ip,
              protocol,
              host: 'node.test',
              names: [],
              remotePort,
              remoteFamily: ip.includes(':') ? 'IPv6' : 'IPv4',
            },
            `${way}, trusted: ${trustedProxies}`,
          )
        }
        connection.send(rawRequest('GET', '/socket', { ...handshake, ...forged }))
        t.equal((await connection.answer()).status, 101)
        connection.send(closeFrame)
        t.match(await connection.ended(), `${ip} ${protocol}`)
      }
      await node.stop()
    }
  }
})

test('limits count each client by its own address', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const node = await createTestNode({ plugins: [telling, handing.plugin] })
  t.teardown(() => node.stop())
  const status = async (remoteAddress: string) => {
    const connection = await handing.connect({ remoteAddress })
    connection.send(rawRequest('GET', '/once'))
    const answer = await connection.answer()
    if (answer.status !== 200) checkError(t, answer, 'TOO_MANY_REQUESTS')
    return answer.status
  }
  t.equal(await status('203.0.113.7'), 200)
  t.equal(await status('203.0.113.7'), 429)
  t.equal(await status('203.0.113.8'), 200)
  t.equal(await status('2001:db8::1'), 200)
  t.equal(await status('2001:db8::2'), 429, 'an IPv6 client has the network around it')
})

test('a request for another name than that of its connection is misdirected', async (t) => {
  const handing = createHanding(t, 'tls.TLSSocket')
  const node = await createTestNode({ plugins: [telling, handing.plugin] })
  t.teardown(() => node.stop())
  const connection = await handing.connect(tls)
  const ask = async (host: string, headers = {}) => {
    connection.send(rawRequest('GET', '/facts', { host, ...headers }))
    return connection.answer()
  }
  for (const host of ['me.example.org', 'ME.example.org', 'me.example.org:443', 'me.example.org:8443'])
    t.equal((await ask(host)).status, 200, host)
  for (const host of [
    'other.example.org',
    'example.org',
    'x.me.example.org',
    'me.example.org.',
    'me.example.org@other.example.org',
    'other.example.org@me.example.org',
    'me.example.org:443:443',
    '127.0.0.1',
    'localhost:4200',
  ])
    checkError(t, await ask(host), 'MISDIRECTED_REQUEST', host)
  checkError(t, await ask('other.test', { 'x-forwarded-host': 'me.example.org' }), 'MISDIRECTED_REQUEST')
  connection.send('GET /facts HTTP/1.0\r\nconnection: keep-alive\r\n\r\n')
  checkError(t, await connection.answer(), 'MISDIRECTED_REQUEST', 'no Host at all')
  t.equal((await ask('me.example.org')).status, 200, 'the connection goes on')
  const askFor = (target: string, host: string) => {
    connection.send(rawRequest('GET', target, { host }))
    return connection.answer()
  }
  const facts = await askFor('http://me.example.org:8443/facts', 'other.example.org')
  t.match(
    JSON.parse(facts.body),
    { host: 'me.example.org:8443' },
    'the host of the target counts, not the header',
  )
  const other = await askFor('https://other.example.org/facts', 'me.example.org')
  checkError(t, other, 'MISDIRECTED_REQUEST', 'the host of the target is another one')
  connection.send(rawRequest('GET', '/socket', { ...handshake, host: 'other.example.org' }))
  checkError(t, await connection.answer(), 'MISDIRECTED_REQUEST', 'a WebSocket')

  const nameless = await handing.connect({ serverName: null })
  for (const host of ['me.example.org', 'other.example.org']) {
    nameless.send(rawRequest('GET', '/facts', { host }))
    t.equal((await nameless.answer()).status, 200, 'a connection for no name')
  }
})

test('a stream without bytes and a client without an address are refused', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const node = await createTestNode({ plugins: [handing.plugin] })
  t.teardown(() => node.stop())
  const client = { remoteAddress: '203.0.113.7', remotePort: 1, encrypted: false, serverName: null }
  const refused: [ClientConnection, RegExp][] = [
    [{ ...client, socket: new PassThrough({ objectMode: true }) }, /must yield bytes/],
    [{ ...client, socket: new PassThrough({ encoding: 'utf8' }) }, /must yield bytes/],
    [{ ...client, socket: new PassThrough(), remoteAddress: 'unknown' }, /must be an IP address/],
    [{ ...client, socket: new PassThrough(), remoteAddress: '' }, /must be an IP address/],
  ]
  for (const [connection, message] of refused) {
    t.throws(() => handing.serve(connection), { name: 'TypeError', message })
    t.ok(connection.socket.destroyed)
  }
})

/** Starts a node that a plugin leads clients to as `https://me.example.org`. */
async function startReachableNode(t: Test, handing: Handing, server = {}) {
  const leading = definePlugin({
    id: 'leading',
    contributes: { origins: PublicOrigins },
    setup({ origins }) {
      origins.add('test', 'https://me.example.org')
    },
  })
  return startLoginNode(t, { plugins: [handing.plugin, leading], config: { server } })
}

const ada = wallet(1)
const proof = JSON.stringify({ uuid: 'ada', address: ada, token: ada })
const json = { 'content-type': 'application/json' }

test('a client signs in by a public origin over TLS, and its cookie is Secure', async (t) => {
  for (const way of ways) {
    const handing = createHanding(t, way)
    const { as } = await startReachableNode(t, handing)
    const connection = await handing.connect(tls)
    const host = { host: 'me.example.org' }
    connection.send(rawRequest('POST', '/auth/test', { ...json, ...host }, proof))
    const answer = await connection.answer()
    t.equal(answer.status, 200, way)
    t.match(answer.headers['set-cookie'], /; HttpOnly; Secure; SameSite=Lax$/)
    const { sessionToken } = JSON.parse(answer.body) as { sessionToken: string }
    t.match(await (await as(sessionToken, '/whoami')).json(), { user: { wallet: ada } }, 'also at home')

    const cookie = { ...host, cookie: `session=${sessionToken}` }
    connection.send(rawRequest('GET', '/whoami', cookie))
    t.match((await connection.answer()).body, ada)
    for (const foreign of [{ origin: 'https://evil.test' }, { 'sec-fetch-site': 'cross-site' }]) {
      connection.send(rawRequest('POST', '/auth/logout', { ...cookie, ...foreign }))
      checkError(t, await connection.answer(), 'FORBIDDEN', 'a page of another site')
    }
    connection.send(rawRequest('POST', '/auth/logout', { ...cookie, origin: 'https://me.example.org' }))
    t.equal((await connection.answer()).status, 200)
  }
})

test('the names for home do not count outside of home', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const { fetch } = await startReachableNode(t, handing, { hostnames: ['nas.local'] })
  t.equal((await fetch('/auth/test', { method: 'POST', headers: json, body: proof })).status, 200)
  for (const host of ['127.0.0.1:4200', 'localhost', '[::1]:4200', 'other.example.org']) {
    const connection = await handing.connect({ encrypted: true })
    connection.send(rawRequest('POST', '/auth/test', { ...json, host }, proof))
    const answer = await connection.answer()
    checkError(t, answer, 'VALIDATION_ERROR', host)
    t.match(answer.body, / outside of its own network\. The owner can add /)
  }
  const connection = await handing.connect({ encrypted: true })
  connection.send(rawRequest('POST', '/auth/test', { ...json, host: 'nas.local' }, proof))
  t.equal((await connection.answer()).status, 200, 'a configured name counts everywhere')
})

test('nobody signs in over a connection that is not encrypted', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const { openSession } = await startReachableNode(t, handing, { publicUrl: 'http://plain.example.org' })
  const { sessionToken } = await openSession(ada)
  const connection = await handing.connect({ encrypted: false })
  for (const host of ['me.example.org', 'plain.example.org', 'other.example.org']) {
    connection.send(rawRequest('POST', '/auth/test', { ...json, host }, proof))
    const answer = await connection.answer()
    checkError(t, answer, 'FORBIDDEN', host)
    t.match(answer.body, /is not encrypted.* Sign in at an https address/)
    t.notOk(answer.headers['set-cookie'])
  }
  const host = 'me.example.org'
  connection.send(
    rawRequest('POST', '/auth/test', { ...json, host, authorization: 'Bearer x', ...forged }, proof),
  )
  checkError(t, await connection.answer(), 'FORBIDDEN', 'nor with forged headers')
  connection.send(rawRequest('POST', '/auth/logout', { host, authorization: `Bearer ${sessionToken}` }))
  t.equal((await connection.answer()).status, 200, 'a session can be ended')
})

test('answers at https names tell browsers to come by https only', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const { fetch } = await startReachableNode(t, handing, { cors: { origins: ['https://app.test'] } })
  const header = 'strict-transport-security'
  for (const encrypted of [true, false]) {
    const connection = await handing.connect({ encrypted })
    for (const path of ['/health', '/nothing', '/api/account']) {
      connection.send(rawRequest('GET', path, { host: 'me.example.org' }))
      const { headers } = await connection.answer()
      t.equal(headers[header], encrypted ? 'max-age=15552000' : undefined, `${path}, ${encrypted}`)
    }
  }
  t.equal((await fetch('/health')).headers.get(header), null, 'not at home')
})

test('a connection that is not encrypted does not come by an origin with https', async (t) => {
  const handing = createHanding(t, 'net.Socket')
  const { signIn } = await startReachableNode(t, handing)
  const [, own = ''] = (await signIn(ada)).headers.getSetCookie()
  const connection = await handing.connect({ encrypted: false })
  const cookie = `${own.split('=', 1)}=nks_${'a'.repeat(43)}`
  connection.send(rawRequest('GET', '/whoami', { host: 'me.example.org', cookie }))
  const answer = await connection.answer()
  t.match(answer.headers['set-cookie'], /^session-\w+=;/)
  t.notMatch(answer.headers['set-cookie'], /Secure/, 'a browser would ignore a Secure cookie here')
})
