import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type RouteAccess } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'
import { createToken } from '../../src/sessions/token.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'
import { checkErrorResponse } from '../http/fixtures/error-answer.ts'

const ada = wallet(1)
const protectedPath = '/api/account/sessions'

const rooms = definePlugin({
  id: 'rooms',
  setup({ routes }) {
    routes((app) => {
      const publicReason = 'It is there for a test.'
      app.get('/lobby', { config: { access: 'public', publicReason } }, async ({ user }) => ({ user }))
      app.post('/lobby', { config: { access: 'public', publicReason } }, async ({ user }) => ({ user }))
      app.get('/room', async ({ user }) => ({ user }))
      app.get('/explicit', { config: { access: 'user' } }, async ({ user }) => ({ user }))
      app.get('/vault', { config: { access: 'owner' } }, async ({ user }) => ({ user }))
      app.get('/nested/*', async ({ user }) => ({ user }))
    })
  },
})

test('a route requires a signed-in user unless it declares another access', async (t) => {
  const node = await createTestNode({ plugins: [rooms] })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const owner = await node.signIn('owner')
  const callers = { nobody: node, user, owner }
  const expected = {
    '/lobby': { nobody: 200, user: 200, owner: 200 },
    '/room': { nobody: 401, user: 200, owner: 200 },
    '/explicit': { nobody: 401, user: 200, owner: 200 },
    '/vault': { nobody: 401, user: 403, owner: 200 },
    '/nested/a/b': { nobody: 401, user: 200, owner: 200 },
    '/nothing': { nobody: 404, user: 404, owner: 404 },
  }
  for (const [path, statuses] of Object.entries(expected)) {
    for (const name of ['nobody', 'user', 'owner'] as const) {
      const answer = await callers[name].fetch(path)
      t.equal(answer.status, statuses[name], `${name} at ${path}`)
      if (answer.status === 401) await checkErrorResponse(t, answer, 'UNAUTHORIZED')
      if (answer.status === 403) await checkErrorResponse(t, answer, 'FORBIDDEN')
      if (answer.status === 200) {
        const { user: seen } = (await answer.json()) as { user: unknown }
        if (name === 'nobody') t.equal(seen, null)
        else {
          const { uuid, username, wallet, owner: isOwner } = callers[name].user
          t.match(seen, { uuid, username, wallet, owner: isOwner, scopes: null })
        }
      }
    }
  }
  const refused = await node.fetch('/room')
  t.equal(refused.headers.get('www-authenticate'), 'Bearer')
})

test('a public route answers a request with a wrong token', async (t) => {
  const node = await createTestNode({ plugins: [rooms] })
  t.teardown(() => node.stop())
  for (const token of ['wrong', `nks_${'A'.repeat(43)}`, `nkt_${'A'.repeat(43)}`]) {
    const headers = { authorization: `Bearer ${token}` }
    t.same(await (await node.fetch('/lobby', { headers })).json(), { user: null })
    t.equal((await node.fetch('/room', { headers })).status, 401)
  }
})

test('the node takes a token only from the header or the cookie', async (t) => {
  const { openSession, fetch, send } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(path, { headers })).status
  t.equal(await status(protectedPath, { authorization: `Bearer ${token}` }), 200)
  t.equal(await status(protectedPath, { authorization: `bearer   ${token}  ` }), 200)
  t.equal(await status(protectedPath, { cookie: `session=${token}` }), 200)

  for (const name of ['session', 'token', 'sessionToken', 'access_token', 'authorization', 'claim']) {
    t.equal(await status(`${protectedPath}?${name}=${token}`), 401, `?${name}=`)
    const body = { [name]: token, username: 'adaada' }
    await expectError(t, await send('PATCH', '/api/account', body), 401, 'UNAUTHORIZED')
    const given = { authorization: `Bearer ${token}` }
    await expectError(t, await send('PATCH', '/api/account', body, given), 400, 'VALIDATION_ERROR')
  }
  for (const headers of [
    { referer: `http://localhost/?session=${token}` },
    { 'x-session': token },
    { 'x-auth-token': token },
    { 'x-api-key': token },
    { 'proxy-authorization': `Bearer ${token}` },
    { 'sec-websocket-protocol': token },
    { authorization: token },
    { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
    { authorization: `Basic ${token}` },
    { authorization: `Token ${token}` },
    { authorization: `Bearer: ${token}` },
    { authorization: `Bearer${token}` },
    { authorization: `Bearer ${token} x` },
    { authorization: `Bearer x, Bearer ${token}` },
    { authorization: `Bearer "${token}"` },
    { cookie: `Session=${token}` },
    { cookie: `session2=${token}` },
    { cookie: `sessionToken=${token}` },
  ] as Record<string, string>[]) {
    t.equal(await status(protectedPath, headers), 401, JSON.stringify(Object.keys(headers)))
  }
})

test('the header takes precedence over the cookie', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const [one, two] = [await openSession(ada), await openSession(wallet(2))]
  const who = async (authorization: string) => {
    const headers = { authorization, cookie: `session=${two.sessionToken}` }
    const body = (await (await fetch('/whoami', { headers })).json()) as { user: { wallet?: string } }
    return body.user.wallet
  }
  t.equal(await who(`Bearer ${one.sessionToken}`), ada)
  t.equal(await who('Bearer wrong'), undefined)
  t.equal(await who('Basic eDp5'), undefined)
})

test('the node refuses every text that is not a token', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const near = fc
    .tuple(fc.nat(token.length - 1), fc.constantFrom('', 'A', '_', '\u00e9', ' ', '=', '%'))
    .map(([at, letter]) => token.slice(0, at) + letter + token.slice(at + 1))
    .filter((text) => text.trim() !== token)
  const latin = fc
    .array(
      fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f),
      { maxLength: 300 },
    )
    .map((codes) => String.fromCharCode(...codes))
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(fc.oneof(near, latin, fc.constant(createToken('session'))), async (text) => {
      for (const headers of [{ authorization: `Bearer ${text}` }, { cookie: `session=${text}` }]) {
        const response = await fetch(protectedPath, { headers })
        await response.arrayBuffer()
        statuses.add(response.status)
      }
    }),
    { numRuns: 60 },
  )
  t.ok(
    [...statuses].every((status) => status === 401 || status === 429),
    [...statuses].join(),
  )
  t.equal((await fetch(protectedPath, { headers: { authorization: `Bearer ${token}` } })).status, 200)
})

test('a client that guesses tokens is limited, but its right token is accepted', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const statuses = []
  for (let n = 0; n < 61; n += 1) {
    const response = await fetch('/whoami', {
      headers: { authorization: `Bearer ${createToken('session')}` },
    })
    statuses.push(response.status)
    if (n < 60) continue
    const wait = Number(response.headers.get('retry-after'))
    t.ok(wait >= 1 && wait <= 60, `retry-after: ${wait}`)
    await expectError(t, response, 429, 'TOO_MANY_REQUESTS')
  }
  t.same(statuses, [...Array.from({ length: 60 }, () => 200), 429])
  t.equal((await fetch(protectedPath, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  t.equal((await fetch('/whoami')).status, 200, 'requests without a token are not limited')
})

test('a page of another site cannot write with the cookie', async (t) => {
  const node = await createTestNode({ plugins: [rooms] })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const send = (method: string, headers: Record<string, string>) =>
    node.fetch('/lobby', { method, headers: { cookie: `session=${token}`, ...headers } })
  const own = `http://${node.url.host}`
  const cases: readonly (readonly [Record<string, string>, boolean])[] = [
    [{}, true],
    [{ origin: own }, true],
    [{ origin: own, 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ origin: 'https://evil.test' }, false],
    [{ origin: `${own}.evil.test` }, false],
    [{ origin: 'null' }, false],
    [{ origin: own, 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
  ]
  for (const [headers, allowed] of cases) {
    const answer = await send('POST', headers)
    t.equal(answer.status, allowed ? 200 : 403, `POST with ${JSON.stringify(headers)}`)
    if (!allowed) await checkErrorResponse(t, answer, 'FORBIDDEN')
    t.equal((await send('GET', headers)).status, 200, 'the browser decides who may read')
  }
  const bearer = {
    authorization: `Bearer ${token}`,
    origin: 'https://evil.test',
    'sec-fetch-site': 'cross-site',
  }
  t.equal(
    (await node.fetch('/lobby', { method: 'POST', headers: bearer })).status,
    200,
    'a browser does not add this header by itself',
  )
})

test('behind a trusted proxy, the forwarded host decides which pages are the node’s own', async (t) => {
  const startNode = async (trustedProxies: string[]) => {
    const config = { server: { trustedProxies, hostnames: ['nas.local'] } }
    const node = await createTestNode({ plugins: [rooms], config })
    t.teardown(() => node.stop())
    const { token } = await node.signIn()
    return async (origin: string, forwarded = 'nas.local') => {
      const headers = {
        cookie: `session=${token}`,
        origin,
        'x-forwarded-host': forwarded,
        'x-forwarded-proto': 'https',
      }
      return (await node.fetch('/lobby', { method: 'POST', headers })).status
    }
  }
  const trusting = await startNode(['127.0.0.1'])
  t.equal(await trusting('https://nas.local'), 200)
  t.equal(await trusting('https://nas.local', 'NAS.local:443'), 200)
  t.equal(await trusting('https://evil.test'), 403)
  t.equal(await trusting('null', '//'), 403)
  const direct = await startNode([])
  t.equal(await direct('https://nas.local'), 403, 'the node ignores the forwarded host of other clients')
})

test('a page of another site cannot sign a user out', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const headers = { cookie: `session=${token}`, 'sec-fetch-site': 'cross-site' }
  const answer = await node.fetch('/auth/logout', { method: 'POST', headers })
  t.equal(answer.status, 403)
  t.match(await answer.json(), { message: 'A page of another site must not sign anybody in or out here.' })
})

test('a plugin with a route whose config protects it less than it seems does not start', async (t) => {
  const faults = [
    [{ access: 'everyone' as RouteAccess }, /has the access "everyone"\. Use "user", "owner" or "public"/],
    [{ access: 'public' as const }, /is public\. Say why in "publicReason"/],
    [{ access: 'public' as const, publicReason: '' }, /is public\. Say why in "publicReason"/],
    [{ acces: 'owner' }, /has "acces" in its config\. Did you mean "access"\?/],
    [{ ratelimit: { max: 1, timeWindow: 1000 } }, /Did you mean "rateLimit"\?/],
    [{ rateLimit: { max: 1 } as never }, /"rateLimit" that limits nothing\. Write \{ max, timeWindow \}/],
    [{ rateLimit: { max: 1, timeWindow: '1 minute' } as never }, /"rateLimit" that limits nothing/],
    [{ answersLate: 'yes' as never }, /"answersLate" that is neither true nor false/],
    [{ scope: ['notes:read'] as never }, /"scope" that no token can have/],
    [{ scope: 'notes read' }, /"scope" that no token can have/],
    [{ scope: 'n'.repeat(101) }, /"scope" that no token can have/],
    [{ body: 'streamed' as 'stream' }, /the body "streamed"\. Use "buffered" or "stream"/],
  ] as const
  const plugins = faults.map(([config], index) =>
    definePlugin({
      id: `wrong-${index}`,
      setup({ routes }) {
        routes((app) => {
          app.get(`/fine-${index}`, async () => '')
          app.get(`/wrong-${index}`, { config }, async () => '')
        })
      },
    }),
  )
  await t.rejects(createTestNode({ plugins: plugins.slice(0, 1) }), { message: faults[0][1] })
  const optional = Object.fromEntries(plugins.map(({ id }) => [id, { required: false }]))
  const node = await createTestNode({ plugins, config: { plugins: optional } })
  t.teardown(() => node.stop())
  const reasons = new Map(node.plugins().map(({ id, reason }) => [id, reason]))
  for (const [index, [, message]] of faults.entries()) t.match(reasons.get(`wrong-${index}`), message)
})
