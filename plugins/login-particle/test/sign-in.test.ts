import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import loginParticle from '../src/index.ts'
import { createLoginNode, type LoginNode } from './fixtures/login-node.ts'
import { project, sendJson, user, userInfo } from './fixtures/particle-server.ts'

/** Starts a node whose owner is the user of the Particle server. Other users may not sign in. */
function startOwnedNode(t: Test, section: object = {}): Promise<LoginNode> {
  return createLoginNode(t, section, {
    auth: { owner: user.address, admission: 'owner', signInsPerMinute: 100 },
  })
}

function signIn({ node }: LoginNode, changes: object = {}, init: RequestInit = {}): Promise<Response> {
  return node.fetch('/auth/particle', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...user, ...changes }),
    ...init,
  })
}

/** Asserts the status and code of an error, and that its body has exactly three fields. */
async function assertError(t: Test, response: Response, status: number, code: string): Promise<void> {
  t.equal(response.status, status)
  const { message, ...rest } = (await response.json()) as { message: string }
  t.strictSame(rest, { error: true, code })
  t.type(message, 'string')
  t.equal(response.headers.get('set-cookie'), null)
}

test('A wallet of Particle Network opens a session', async (t) => {
  const started = await startOwnedNode(t)
  const response = await signIn(started, { address: user.address.toLowerCase() })
  t.equal(response.status, 200)
  t.match(response.headers.get('set-cookie'), /^session=[^;]+;.*HttpOnly/)
  const { sessionToken, ...rest } = (await response.json()) as { sessionToken: string }
  t.match(rest, { success: true, user: { wallet: user.address } })

  const who = await started.node.fetch('/whoami', { headers: { authorization: `Bearer ${sessionToken}` } })
  t.match(await who.json(), { user: { authenticated: true, wallet: user.address } })

  const again = (await (await signIn(started)).json()) as { user: object; sessionToken: string }
  t.strictSame(again.user, (rest as unknown as { user: object }).user, 'It is the same user.')
  t.not(again.sessionToken, sessionToken, 'It is another session.')
})

test('Unproven credentials open no session', async (t) => {
  const started = await startOwnedNode(t)
  const { server } = started
  const other = 'b7b8c1a4-31f8-4df4-9d0b-bb5a5e7a4c2f'
  await assertError(t, await signIn(started, { token: 'made-up' }), 401, 'UNAUTHORIZED')
  await assertError(t, await signIn(started, { uuid: other }), 401, 'UNAUTHORIZED')
  await assertError(t, await signIn(started, { address: `0x${'1'.repeat(40)}` }), 401, 'UNAUTHORIZED')
  server.answer = (response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, result: { ...userInfo, uuid: other } })
  await assertError(t, await signIn(started), 401, 'UNAUTHORIZED')
  server.answer = (response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, result: { ...userInfo, wallets: [] } })
  await assertError(t, await signIn(started), 401, 'UNAUTHORIZED')
})

test('A proven wallet also needs admission', async (t) => {
  const started = await startOwnedNode(t)
  const address = `0x${'1'.repeat(40)}`
  const wallets = [{ chain: 'evm_chain', publicAddress: address }]
  started.server.answer = (response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, result: { ...userInfo, wallets } })
  await assertError(t, await signIn(started, { address }), 403, 'FORBIDDEN')
})

test('Malformed fields are refused without a request', async (t) => {
  const started = await startOwnedNode(t)
  for (const changes of [
    { uuid: 'ada' },
    { address: '0x1' },
    { token: 'a b' },
    { token: 'x'.repeat(5000) },
    { uuid: 7 },
  ]) {
    await assertError(t, await signIn(started, changes), 400, 'VALIDATION_ERROR')
  }
  t.strictSame(started.server.questions, [])
})

test('Faults of the server have other errors than faults of the client', async (t) => {
  const started = await startOwnedNode(t)
  const { server, node } = started
  server.answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
  await assertError(t, await signIn(started), 502, 'UPSTREAM_ERROR')
  server.answer = (response) => response.writeHead(401).end()
  await assertError(t, await signIn(started), 502, 'UPSTREAM_ERROR')
  server.answer = (response) => response.writeHead(429, { 'retry-after': '17' }).end()
  const busy = await signIn(started)
  t.equal(busy.headers.get('retry-after'), '17')
  await assertError(t, busy, 503, 'SERVICE_UNAVAILABLE')
  const slow = await startOwnedNode(t, { timeoutMs: 200 })
  slow.server.answer = () => {}
  await assertError(t, await signIn(slow), 504, 'UPSTREAM_TIMEOUT')

  server.answer = null
  t.equal((await signIn(started)).status, 200, 'The sign-in works again as soon as the server does.')

  await server.close()
  await assertError(t, await signIn(started), 502, 'UPSTREAM_ERROR')
  t.equal((await node.fetch('/health')).status, 200, 'The node itself is healthy.')
})

test('A client that disconnects ends the request to Particle Network', async (t) => {
  const started = await startOwnedNode(t)
  started.server.answer = () => {}
  const asked = started.server.next()
  const abort = new AbortController()
  const signing = signIn(started, {}, { signal: abort.signal })
  const { closed } = await asked
  abort.abort()
  await t.rejects(signing, { name: 'AbortError' })
  await closed
  t.pass('The connection to Particle Network is closed.')
})

test('No secret of a sign-in is logged at any level', async (t) => {
  const started = await startOwnedNode(t)
  const { server, log } = started
  const { sessionToken } = (await (await signIn(started)).json()) as { sessionToken: string }
  await signIn(started, { token: 'a-made-up-token' })
  for (const status of [401, 500, 302]) {
    server.answer = (response) => response.writeHead(status).end()
    await signIn(started)
  }
  const { projectId, serverKey } = project
  const basic = Buffer.from(`${projectId}:${serverKey}`).toString('base64')
  const lines = log.join('\n')
  t.match(lines, /login-particle\.serverKey/)
  for (const secret of [sessionToken, user.token, 'a-made-up-token', serverKey, basic]) {
    t.notOk(lines.includes(secret), `${secret.slice(0, 4)}…`)
  }
})

test('The node does not start with an invalid section', async (t) => {
  const start = (section: object) =>
    createTestNode({ plugins: [loginParticle], config: { 'login-particle': section } })
  await t.rejects(start({}), /login-particle\.projectId is missing.*login-particle\.serverKey is missing/s)
  await t.rejects(start({ ...project, projectId: 'a:b' }), /login-particle\.projectId/)
  await t.rejects(start({ ...project, serverKey: '' }), /login-particle\.serverKey .* must not be empty/)
  await t.rejects(start({ ...project, timeoutMs: 0 }), /login-particle\.timeoutMs/)
  const exposed = await start({ ...project, baseURL: 'http://api.particle.network/server/rpc' }).catch(String)
  t.match(exposed, /login-particle\.baseURL must be an https address: over http/)
  t.notMatch(exposed, project.serverKey)
})
