import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { definePlugin, PublicOrigins } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { proofOf, trustingLogin, wallet } from './fixtures/trusting-login.ts'

const chat = definePlugin({
  id: 'chat',
  setup({ routes }) {
    routes(
      (app) => {
        app.get('/chat', { websocket: true }, (socket) => socket.send('hello'))
        app.get('/page', async () => ({ ok: true }))
        const open = { access: 'public', publicReason: 'It is a test.' } as const
        app.post('/open', { config: open }, async ({ user }) => ({ user: user?.username ?? null }))
        app.route({
          method: ['POST', 'PUT', 'PATCH', 'DELETE'],
          url: '/page',
          handler: async () => ({ ok: true }),
        })
      },
      { webSockets: true },
    )
  },
})

interface Headers {
  readonly [name: string]: string
}

/** Sends a request with headers of a browser. `fetch` does not allow to set them. */
async function send(
  { url }: TestNode,
  method: string,
  path: string,
  headers: Headers,
  body?: string,
): Promise<IncomingMessage> {
  const sent = request(new URL(path, url), { method, headers })
  sent.end(body)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  sent.once('response', resolve)
  sent.once('upgrade', (response, socket) => {
    socket.destroy()
    resolve(response)
  })
  sent.once('error', reject)
  const response = await promise
  response.resume()
  if (response.statusCode !== 101) await once(response, 'end')
  return response
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16, 7).toString('base64'),
}

/** Headers in requests of foreign pages. Some browsers send only one of them. */
function foreign({ url }: TestNode): Headers[] {
  return [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'file://' },
    { origin: `http://${url.hostname}:${Number(url.port) + 1}` },
    { origin: `http://${url.hostname}` },
    { origin: `http://${url.host}.evil.example` },
    { origin: `http://${url.host}@evil.example` },
    { origin: url.host },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': 'Same-Origin' },
    { 'sec-fetch-site': 'cross-site', origin: url.origin },
    { 'sec-fetch-site': 'same-site', origin: 'null' },
  ]
}

function own({ url }: TestNode): Headers[] {
  return [
    {},
    { origin: url.origin },
    { 'sec-fetch-site': 'same-origin', origin: url.origin },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
  ]
}

test('only the node’s own page can write or open a WebSocket with the cookie', async (t) => {
  const node = await createTestNode({ plugins: [chat] })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const cookie = `session=${token}`
  const status = async (method: string, path: string, headers: Headers) =>
    (await send(node, method, path, { cookie, ...headers })).statusCode

  for (const headers of foreign(node)) {
    const page = JSON.stringify(headers)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      t.equal(await status(method, '/page', headers), 403, page)
    t.equal(await status('POST', '/open', headers), 403, `${page}, public route`)
    t.equal(await status('GET', '/chat', { ...upgrade, ...headers }), 403, `${page}, WebSocket`)
    t.equal(await status('POST', '/auth/logout', headers), 403, `${page}, sign-out`)
    t.equal(await status('GET', '/page', headers), 200, `${page}, reading: the browser hides the answer`)
  }
  for (const headers of own(node)) {
    const page = JSON.stringify(headers)
    t.equal(await status('POST', '/page', headers), 200, page)
    t.equal(await status('GET', '/chat', { ...upgrade, ...headers }), 101, `${page}, WebSocket`)
  }
})

test('a token in the header works from any origin', async (t) => {
  const node = await createTestNode({ plugins: [chat] })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const authorization = `Bearer ${token}`
  for (const headers of foreign(node)) {
    const given = { authorization, cookie: `session=${token}`, ...headers }
    t.equal((await send(node, 'POST', '/page', given)).statusCode, 200)
    t.equal((await send(node, 'GET', '/chat', { ...given, ...upgrade })).statusCode, 101)
  }
  const other = await node.signIn()
  const signOutHeaders = { authorization: `Bearer ${other.token}`, origin: 'app://client' }
  t.equal(
    (await send(node, 'POST', '/auth/logout', signOutHeaders)).statusCode,
    200,
    'a token in the header may sign out',
  )
  const anonymous = await send(node, 'GET', '/chat', { ...upgrade, origin: node.url.origin })
  t.equal(anonymous.statusCode, 401, 'a WebSocket needs a user like any route')
  t.match(anonymous.headers['content-type'], /json/)
})

test('origins in the configuration may write', async (t) => {
  const trusted = 'https://app.example'
  const publicUrl = 'https://node.example.org'
  const node = await createTestNode({
    plugins: [chat],
    config: { server: { cors: { origins: [trusted] }, publicUrl } },
  })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const status = async (headers: Headers) =>
    (await send(node, 'POST', '/page', { cookie: `session=${token}`, ...headers })).statusCode
  t.equal(await status({ origin: trusted, 'sec-fetch-site': 'cross-site' }), 200)
  t.equal(await status({ origin: publicUrl }), 200, 'a proxy may have changed the Host')
  t.equal(await status({ origin: 'https://app.example.evil.example' }), 403)
  t.equal(await status({ origin: 'http://app.example' }), 403)
  t.equal(await status({ origin: 'https://app.example:8443' }), 403)
  t.equal(await status({ 'sec-fetch-site': 'cross-site' }), 403)
})

test('a foreign page cannot use up the sign-in limit of its visitor', async (t) => {
  const auth = { owner: wallet(1), signInsPerMinute: 3 }
  const node = await createTestNode({ plugins: [trustingLogin], config: { auth } })
  t.teardown(() => node.stop())
  const { headers, body } = proofOf(wallet(1))
  const status = async (more: Headers) =>
    (await send(node, 'POST', '/auth/test', { ...headers, ...more }, body)).statusCode
  for (const page of foreign(node)) {
    t.equal(await status(page), 403, JSON.stringify(page))
    t.equal(await status({ ...page, 'content-type': 'text/plain' }), 403, 'a form without a preflight')
  }
  for (const page of own(node).slice(0, 3)) t.equal(await status(page), 200, JSON.stringify(page))
  t.equal(await status({}), 429, 'only the visitor’s own attempts count')
})

test('a sign-in with the Host of another site is refused', async (t) => {
  const config = { server: { hostnames: ['nas.local'] }, auth: { owner: wallet(1) } }
  const node = await createTestNode({ plugins: [trustingLogin], config })
  t.teardown(() => node.stop())
  const { headers, body } = proofOf(wallet(1))
  const status = async (host: string) =>
    (await send(node, 'POST', '/auth/test', { ...headers, host }, body)).statusCode
  for (const host of ['evil.example', 'localhost.evil.example', 'evil.example@localhost', '127.1'])
    t.equal(await status(host), 400, host)
  for (const host of ['localhost', 'nas.local:4200']) t.equal(await status(host), 200, host)
})

test('a plugin adds a public origin, and takes it back', async (t) => {
  let takeBack = () => {}
  const tunnel = definePlugin({
    id: 'tunnel',
    contributes: { origins: PublicOrigins },
    setup: ({ origins }) => {
      takeBack = origins.add('tunnel', 'https://me.example.org')
    },
  })
  const node = await createTestNode({
    plugins: [trustingLogin, tunnel],
    config: { auth: { owner: wallet(1) } },
  })
  t.teardown(() => node.stop())
  const { headers, body } = proofOf(wallet(1))
  const signIn = () =>
    send(
      node,
      'POST',
      '/auth/test',
      { ...headers, host: 'me.example.org', origin: 'https://me.example.org' },
      body,
    )

  const signedIn = await signIn()
  t.equal(signedIn.statusCode, 200)
  t.match(signedIn.headers['set-cookie'], [/; Secure/])
  takeBack()
  t.equal((await signIn()).statusCode, 400, 'its name is unknown again')
})
