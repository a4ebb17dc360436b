import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { type LoginNode, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState, withState } from '../fixtures/state-file.ts'

const [ada, bob] = [wallet(1), wallet(2)]

const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes((app) => {
      const answer = async () => ({ ok: true })
      app.get('/notes', { config: { scope: 'notes:read' } }, answer)
      app.post('/notes', { config: { scope: 'notes:write' } }, answer)
      app.get('/unscoped', answer)
      const greet = async ({ user }: { user: { username: string } | null }) => ({
        hello: user?.username ?? null,
      })
      app.get('/greeting', { config: { access: 'public', publicReason: 'A test.' } }, greet)
      const known = { access: 'public', publicReason: 'A test.', scope: 'notes:read' } as const
      app.get('/known', { config: known }, greet)
      app.get('/audit', { config: { access: 'owner', scope: 'notes:audit' } }, answer)
    })
  },
})

interface ApiToken {
  token: string
  details: {
    id: string
    name: string
    scopes: string[]
    created: string
    lastUsed: string | null
    expires: string | null
  }
}

const start = (t: Parameters<typeof startLoginNode>[0]) => startLoginNode(t, { plugins: [notes] })

function ask({ send }: LoginNode, session: string, body: object): Promise<Response> {
  return send('POST', '/api/account/tokens', body, { authorization: `Bearer ${session}` })
}

async function make(node: LoginNode, session: string, body: object = {}): Promise<ApiToken> {
  const response = await ask(node, session, { name: 'backup', scopes: ['notes:read'], ...body })
  if (response.status !== 200) throw new Error(`A token: ${response.status} ${await response.text()}`)
  return (await response.json()) as ApiToken
}

test('the node shows a token once, and the token may do what its scopes allow', async (t) => {
  const node = await start(t)
  const { sessionToken } = await node.openSession(ada)
  const response = await ask(node, sessionToken, { name: 'backup', scopes: ['notes:read', 'notes:read'] })
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.equal(response.headers.get('set-cookie'), null)
  const { token, details } = (await response.json()) as ApiToken
  t.match(token, /^nkt_[\w-]{43}$/)
  t.match(details, { name: 'backup', scopes: ['notes:read'], lastUsed: null })
  t.equal(Date.parse(details.expires ?? '') - Date.parse(details.created), 90 * 86_400_000)

  const status = async (path: string, method = 'GET') => (await node.as(token, path, { method })).status
  t.equal(await status('/notes'), 200)
  const list = await (await node.as(sessionToken, '/api/account/tokens')).json()
  t.match(list, {
    tokens: [{ id: details.id, lastUsed: /^\d{4}-/ }],
    knownScopes: ['notes:audit', 'notes:read', 'notes:write'],
    idleDays: 180,
  })
  t.equal((list as { tokens: object[] }).tokens.length, 1)
  t.notMatch(JSON.stringify(list), /nkt_/)
  const refused = await expectError(t, await node.as(token, '/notes', { method: 'POST' }), 403, 'FORBIDDEN')
  t.match(refused, /"notes:write"/)
  t.match(await expectError(t, await node.as(token, '/unscoped'), 403, 'FORBIDDEN'), /a full session/)
  await expectError(t, await node.as(token, '/audit'), 403, 'FORBIDDEN')
})

test('a public route knows the user of a token only if the token has its scope', async (t) => {
  const node = await start(t)
  const { sessionToken, user } = await node.openSession(ada)
  const { token } = await make(node, sessionToken)
  const hello = async (credential: string, path: string) => (await node.as(credential, path)).json()
  t.strictSame(await hello(sessionToken, '/greeting'), { hello: user.username })
  t.strictSame(await hello(token, '/greeting'), { hello: null })
  t.strictSame(await hello(token, '/known'), { hello: user.username })
})

test('a token gives no access to the account, other tokens or the users', async (t) => {
  const node = await start(t)
  const { sessionToken, user } = await node.openSession(wallet(0))
  const all = { scopes: ['notes:read', 'notes:write', 'notes:audit'] }
  const { token, details } = await make(node, sessionToken, all)
  t.equal((await node.as(token, '/audit')).status, 200, 'the token belongs to the owner')
  for (const [method, path] of [
    ['GET', '/api/account/sessions'],
    ['DELETE', '/api/account/sessions'],
    ['GET', '/api/account/tokens'],
    ['POST', '/api/account/tokens'],
    ['DELETE', `/api/account/tokens/${details.id}`],
    ['PATCH', '/api/account'],
    ['POST', '/auth/logout'],
    ['GET', '/api/users'],
    ['PATCH', `/api/users/${user.uuid}`],
    ['DELETE', `/api/users/${user.uuid}`],
    ['DELETE', `/api/users/${user.uuid}/sessions`],
  ] as const) {
    await expectError(t, await node.as(token, path, { method }), 403, 'FORBIDDEN')
  }
})

test('the routes refuse invalid requests', async (t) => {
  const node = await start(t)
  const { sessionToken } = await node.openSession(ada)
  const good = { name: 'x', scopes: ['notes:read'] }
  for (const changes of [
    { name: '' },
    { name: 'x'.repeat(101) },
    { name: 'x\u001b]0;owned\u0007' },
    { name: 'x\r\ny' },
    { name: 'x\u009b2J' },
    { name: 'x\u202egpj' },
    { name: 7 },
    { name: undefined },
    { scopes: [] },
    { scopes: 'notes:read' },
    { scopes: [''] },
    { scopes: undefined },
    { expiryDays: 0 },
    { expiryDays: -1 },
    { expiryDays: 1.5 },
    { expiryDays: 3651 },
    { expiryDays: '9' },
    { kind: 'session' },
    { userUuid: 'x' },
  ]) {
    await expectError(t, await ask(node, sessionToken, { ...good, ...changes }), 400, 'VALIDATION_ERROR')
  }
  const unknown = await ask(node, sessionToken, { name: 'x', scopes: ['notes:reed', 'notes:read'] })
  const message = await expectError(t, unknown, 400, 'VALIDATION_ERROR')
  t.equal(message, 'Unknown scope "notes:reed". Known scopes: notes:audit, notes:read, notes:write.')
  const plain = await startLoginNode(t)
  const { sessionToken: other } = await plain.openSession(ada)
  const none = await ask(plain, other, good)
  t.match(await expectError(t, none, 400, 'VALIDATION_ERROR'), /No route of this node asks for a scope/)
})

test('a token ends at its expiry, when nobody uses it for long, and with its revocation', async (t) => {
  const node = await start(t)
  const { sessionToken } = await node.openSession(ada)
  const status = async (token: string) => (await node.as(token, '/notes')).status
  const brief = await make(node, sessionToken, { expiryDays: 1 })
  changeState(
    node.node.dataFolder,
    'UPDATE sessions SET expires_at = ? WHERE id = ?',
    Date.now() - 1,
    brief.details.id,
  )
  t.equal(await status(brief.token), 401)

  const lasting = await make(node, sessionToken, { expiryDays: null })
  t.equal(lasting.details.expires, null)
  const unusedFor = async (days: number, { token, details }: ApiToken) => {
    const statement = 'UPDATE sessions SET last_used_at = ? WHERE id = ?'
    changeState(node.node.dataFolder, statement, Date.now() - days * 86_400_000, details.id)
    return status(token)
  }
  t.equal(await unusedFor(179.999, lasting), 200)
  t.equal(await unusedFor(180.001, await make(node, sessionToken)), 401, 'nobody has used it for long')
  const { sessionToken: bobs } = await node.openSession(bob)
  const path = `/api/account/tokens/${lasting.details.id}`
  const foreign = await expectError(t, await node.as(bobs, path, { method: 'DELETE' }), 404, 'NOT_FOUND')
  t.equal(foreign, 'There is no API token with that id.')
  t.equal(await status(lasting.token), 200)
  t.equal((await node.as(sessionToken, path, { method: 'DELETE' })).status, 200)
  t.equal(await status(lasting.token), 401)
  await expectError(t, await node.as(sessionToken, path, { method: 'DELETE' }), 404, 'NOT_FOUND')
})

test('only the routes of sessions end sessions, and only the routes of tokens end tokens', async (t) => {
  const node = await start(t)
  const { sessionToken } = await node.openSession(ada)
  const { token, details } = await make(node, sessionToken)
  const remove = (path: string) => node.as(sessionToken, path, { method: 'DELETE' })
  const { sessions } = (await (await node.as(sessionToken, '/api/account/sessions')).json()) as {
    sessions: { id: string }[]
  }
  const session = await expectError(
    t,
    await remove(`/api/account/tokens/${sessions[0]?.id}`),
    404,
    'NOT_FOUND',
  )
  t.equal(session, 'There is no API token with that id.')
  const asSession = await expectError(
    t,
    await remove(`/api/account/sessions/${details.id}`),
    404,
    'NOT_FOUND',
  )
  t.equal(asSession, 'There is no session with that id.')
  t.equal((await node.as(token, '/notes')).status, 200)
  t.equal((await remove(`/api/account/tokens/${details.id}`)).status, 200)
  t.equal((await remove(`/api/account/sessions/${sessions[0]?.id}`)).status, 200)
})

test('a user has at most 100 tokens, even after concurrent requests', async (t) => {
  const node = await start(t)
  const { sessionToken, user } = await node.openSession(ada)
  const { token } = await make(node, sessionToken)
  const copies = `
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 94)
    INSERT INTO sessions SELECT randomblob(32), 'copy ' || i, user_uuid, kind, label, scopes, created_at, last_used_at, expires_at
    FROM n, sessions WHERE kind = 'api-token'`
  t.equal(changeState(node.node.dataFolder, copies), 94)
  const body = { name: 'x', scopes: ['notes:read'] }
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask(node, sessionToken, body)))
  const statuses = answers.map(({ status }) => status)
  t.ok(
    statuses.every((status) => status === 200 || status === 409),
    statuses.join(),
  )
  const made = statuses.filter((status) => status === 200).length
  const kinds = (await node.node.sessions.listByUser(user.uuid)).filter(({ kind }) => kind === 'api-token')
  t.equal(kinds.length, 95 + made)
  t.ok(kinds.length <= 100)
  for (let n = kinds.length; n < 100; n += 1) await make(node, sessionToken)
  await expectError(t, await ask(node, sessionToken, body), 409, 'CONFLICT')
  t.equal((await node.as(token, '/notes')).status, 200)
})

test('a cached session that another process ended cannot create a token', async (t) => {
  const node = await start(t)
  const { sessionToken } = await node.openSession(ada)
  t.equal((await node.as(sessionToken, '/api/account/tokens')).status, 200, 'the session is cached')
  changeState(node.node.dataFolder, 'DELETE FROM sessions')
  const body = { name: 'x', scopes: ['notes:read'], expiryDays: null }
  await expectError(t, await ask(node, sessionToken, body), 401, 'UNAUTHORIZED')
  t.same(
    withState(node.node.dataFolder, (database) => database.prepare('SELECT id FROM sessions').all()),
    [],
  )
  await expectError(t, await ask(node, sessionToken, body), 401, 'UNAUTHORIZED')
})
