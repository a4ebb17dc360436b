import { test } from 'tap'
import { issueApiToken } from '../../src/sessions/issue-session.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { createDataFolder, type LoginNode, owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState, withState, writeDayOfRunning } from '../fixtures/state-file.ts'

const [ada, bob] = [wallet(1), wallet(2)]
const dayMs = 86_400_000

interface SessionView {
  id: string
  label: string
  created: string
  lastUsed: string
  expires: string
  current: boolean
}

async function sessionsOf({ as }: Pick<LoginNode, 'as'>, token: string): Promise<SessionView[]> {
  const response = await as(token, '/api/account/sessions')
  return ((await response.json()) as { sessions: SessionView[] }).sessions
}

/** Returns whether a token is valid. */
async function isValid({ as }: LoginNode, token: string): Promise<boolean> {
  const { user } = (await (await as(token, '/whoami')).json()) as { user: { authenticated: boolean } }
  return user.authenticated
}

test('users see their own sessions, newest first, and the one in use', async (t) => {
  const started = await startLoginNode(t)
  const first = await started.openSession(ada)
  await started.openSession(bob)
  const proof = { uuid: 'x', address: ada, token: ada }
  const second = await started.send('POST', '/auth/test', proof, {
    'user-agent': `Fähre/1 \t${'x'.repeat(200)}`,
  })
  const { sessionToken } = (await second.json()) as { sessionToken: string }
  const list = await sessionsOf(started, first.sessionToken)
  t.same(list.map(({ current }) => current).toSorted(), [false, true])
  const [other, current] = [list.find((each) => !each.current), list.find((each) => each.current)]
  t.match(other?.label, /^F.+hre\/1 .x{50,}$/)
  t.ok((other?.label.length ?? 0) <= 120)
  t.equal(current?.label, 'node')
  for (const { created, expires } of list) t.equal(Date.parse(expires) - Date.parse(created), 30 * dayMs)
  const text = JSON.stringify(list)
  t.notOk(text.includes(sessionToken) || text.includes(first.sessionToken), 'the list contains no token')
  t.match(Object.keys(list[0] ?? {}).sort(), ['created', 'current', 'expires', 'id', 'label', 'lastUsed'])
})

test('an ended session is invalid at once, and a user cannot end a session of another user', async (t) => {
  const started = await startLoginNode(t)
  const { as, openSession } = started
  const [one, two, bobs] = [await openSession(ada), await openSession(ada), await openSession(bob)]
  t.ok(await isValid(started, two.sessionToken), 'the session is cached')
  const list = await sessionsOf(started, one.sessionToken)
  const id = list.find(({ current }) => !current)?.id
  const end = (token: string) => as(token, `/api/account/sessions/${id}`, { method: 'DELETE' })
  await expectError(t, await end(bobs.sessionToken), 404, 'NOT_FOUND')
  t.ok(await isValid(started, two.sessionToken))
  t.strictSame(await (await end(one.sessionToken)).json(), { success: true })
  t.notOk(await isValid(started, two.sessionToken))
  await expectError(t, await as(two.sessionToken, '/api/account/sessions'), 401, 'UNAUTHORIZED')
  await expectError(t, await end(one.sessionToken), 404, 'NOT_FOUND')
  for (const odd of ['x', '%27', '..%2f', 'x'.repeat(900)]) {
    const response = await as(one.sessionToken, `/api/account/sessions/${odd}`, { method: 'DELETE' })
    await expectError(t, response, 404, 'NOT_FOUND')
  }
})

test('a user ends all other sessions with one request, even with two concurrent ones', async (t) => {
  const started = await startLoginNode(t)
  const { as, openSession } = started
  const tokens = []
  for (let n = 0; n < 6; n += 1) tokens.push((await openSession(ada)).sessionToken)
  const [mine = '', ...others] = tokens
  const end = () => as(mine, '/api/account/sessions', { method: 'DELETE' })
  const answers = await Promise.all([end(), end()])
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
  )
  t.ok(await isValid(started, mine))
  for (const token of others) t.notOk(await isValid(started, token))
  t.strictSame(await (await end()).json(), { success: true, ended: 0 })
})

test('a sign-out ends its session', async (t) => {
  const started = await startLoginNode(t)
  const { as, openSession, fetch } = started
  const [one, two] = [await openSession(ada), await openSession(ada)]
  const response = await as(one.sessionToken, '/auth/logout', { method: 'POST' })
  t.strictSame(await response.json(), { success: true })
  t.notOk(await isValid(started, one.sessionToken))
  t.ok(await isValid(started, two.sessionToken))
  await expectError(t, await as(one.sessionToken, '/auth/logout', { method: 'POST' }), 401, 'UNAUTHORIZED')
  const cookie = `session=${two.sessionToken}`
  t.equal((await fetch('/auth/logout', { method: 'POST', headers: { cookie } })).status, 200)
  t.notOk(await isValid(started, two.sessionToken))
})

test('a sign-out from a session that another process ended is not an error', async (t) => {
  const started = await startLoginNode(t)
  const { sessionToken } = await started.openSession(ada)
  t.ok(await isValid(started, sessionToken))
  changeState(started.node.dataFolder, 'DELETE FROM sessions')
  const response = await started.as(sessionToken, '/auth/logout', { method: 'POST' })
  t.strictSame(await response.json(), { success: true })
  t.notOk(await isValid(started, sessionToken), 'the session is invalid in this process too')
})

test('a session ends at its expiry despite its use, and when it is idle for too long', async (t) => {
  const started = await startLoginNode(t, { config: { session: { expiryDays: 20, idleDays: 3 } } })
  const { node, openSession } = started
  const times = async (createdDaysAgo: number, usedDaysAgo: number) => {
    const { sessionToken } = await openSession(ada)
    const created = Date.now() - createdDaysAgo * dayMs
    changeState(
      node.dataFolder,
      'UPDATE sessions SET created_at = ?, expires_at = ?, last_used_at = ? WHERE created_at = (SELECT max(created_at) FROM sessions)',
      created,
      created + 20 * dayMs,
      Date.now() - usedDaysAgo * dayMs,
    )
    return isValid(started, sessionToken)
  }
  t.equal(await times(19.99, 0), true)
  t.equal(await times(20.001, 0), false)
  t.equal(await times(5, 2.99), true)
  t.equal(await times(5, 3.001), false)
})

test('the lists of the user and of the owner omit expired and idle sessions', async (t) => {
  const { node, as, openSession } = await startLoginNode(t, {
    config: { session: { idleDays: 3, tokenIdleDays: 30 } },
  })
  const [{ sessionToken, user }, ownerSession] = [await openSession(ada), await openSession(owner)]
  const newSession = { userUuid: user.uuid, expiryDays: 30 }
  const session = async (label: string) => (await node.issueSession({ ...newSession, label })).record.id
  const apiToken = async (name: string) =>
    (await issueApiToken(node.sessions, { ...newSession, name, scopes: ['test:read'] })).record.id
  const [idle, over, used] = [await session('idle'), await session('over'), await session('used')]
  const [resting, forgotten] = [await apiToken('resting'), await apiToken('forgotten')]
  const ended = await apiToken('ended')
  const daysAgo = (days: number) => Date.now() - days * dayMs
  const change = (column: string, time: number, id: string) =>
    t.equal(changeState(node.dataFolder, `UPDATE sessions SET ${column} = ? WHERE id = ?`, time, id), 1)
  change('last_used_at', daysAgo(3.001), idle)
  change('last_used_at', daysAgo(2.999), used)
  change('last_used_at', daysAgo(29.999), resting)
  change('last_used_at', daysAgo(30.001), forgotten)
  for (const id of [over, ended]) change('expires_at', daysAgo(0.001), id)

  const ids = async (token: string, path: string, key: 'sessions' | 'tokens') => {
    const lists = (await (await as(token, path)).json()) as Record<typeof key, { id: string }[]>
    return lists[key].map(({ id }) => id).sort()
  }
  const current = (await sessionsOf({ as }, sessionToken)).find((each) => each.current)?.id ?? ''
  const live = [current, used].sort()
  t.same(await ids(sessionToken, '/api/account/sessions', 'sessions'), live)
  t.same(
    await ids(sessionToken, '/api/account/tokens', 'tokens'),
    [resting],
    'an API token may stay unused for longer',
  )
  t.same(await ids(ownerSession.sessionToken, `/api/users/${user.uuid}/sessions`, 'sessions'), live)
  t.same(await ids(ownerSession.sessionToken, `/api/users/${user.uuid}/sessions`, 'tokens'), [resting])
})

test('the node stores the last use each minute, and serves requests even if the write fails', async (t) => {
  const started = await startLoginNode(t)
  const { node, openSession } = started
  const { dataFolder: folder } = node
  const lastUse = () =>
    Number(
      withState(
        folder,
        (database) => database.prepare('SELECT last_used_at FROM sessions').get()?.last_used_at,
      ),
    )
  const age = (seconds: number) =>
    changeState(folder, 'UPDATE sessions SET last_used_at = ?', Date.now() - seconds * 1000)

  const first = await openSession(ada)
  age(61)
  t.ok(await isValid(started, first.sessionToken))
  t.ok(Date.now() - lastUse() < 30_000)
  changeState(folder, 'DELETE FROM sessions')
  const second = await openSession(ada)
  age(20)
  t.ok(await isValid(started, second.sessionToken))
  t.ok(Date.now() - lastUse() >= 20_000, 'the node does not write more often')
  changeState(folder, 'DELETE FROM sessions')
  const third = await openSession(ada)
  age(61)
  withState(folder, (database) =>
    database.exec(
      "CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    ),
  )
  t.ok(await isValid(started, third.sessionToken), 'a full disk does not end a session')
})

test('a user has at most 100 sessions, and a new one evicts the least recently used', async (t) => {
  const started = await startLoginNode(t)
  const { node, openSession, signIn } = started
  const { user, sessionToken } = await openSession(ada)
  const newSession = { userUuid: user.uuid, label: 'x', expiryDays: 1 }
  const tokens = []
  for (let n = 0; n < 99; n += 1) tokens.push((await node.issueSession(newSession)).token)
  const count = async () => (await node.sessions.listByUser(user.uuid)).length
  t.equal(await count(), 100)
  t.ok(await isValid(started, sessionToken))
  changeState(node.dataFolder, "UPDATE sessions SET last_used_at = last_used_at - 1000 WHERE label <> 'x'")
  const newest = await openSession(ada)
  t.equal(await count(), 100)
  t.notOk(await isValid(started, sessionToken), 'the evicted session was cached')
  t.ok(await isValid(started, newest.sessionToken))

  const at = await Promise.all(Array.from({ length: 20 }, () => signIn(ada)))
  t.ok(at.every(({ status }) => status === 200))
  t.equal(await count(), 100, 'the limit applies to concurrent sign-ins')
})

test('a start removes sessions that have certainly expired', async (t) => {
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder })
  const [one, two] = [await first.openSession(ada), await first.openSession(bob)]
  await first.stop()
  changeState(
    folder,
    'UPDATE sessions SET expires_at = ? WHERE user_uuid = ?',
    Date.now() - 1.5 * dayMs,
    one.user.uuid,
  )
  writeDayOfRunning(folder, Date.now())
  const second = await startLoginNode(t, { dataFolder: folder })
  t.notOk(await isValid(second, one.sessionToken))
  t.ok(await isValid(second, two.sessionToken), 'a session survives a restart')
  await second.stop()
  const rows = withState(folder, (database) => database.prepare('SELECT user_uuid FROM sessions').all())
  t.same(rows, [{ user_uuid: two.user.uuid }])
})

test('only the owner sees and ends the sessions of others', async (t) => {
  const started = await startLoginNode(t)
  const { as, openSession } = started
  const [ownerSession, one, two, bobs] = [
    await openSession(owner),
    await openSession(ada),
    await openSession(ada),
    await openSession(bob),
  ]
  const path = `/api/users/${one.user.uuid}/sessions`
  for (const [method, suffix] of [
    ['GET', ''],
    ['DELETE', ''],
    ['DELETE', '/x'],
  ] as const) {
    await expectError(t, await as(bobs.sessionToken, `${path}${suffix}`, { method }), 403, 'FORBIDDEN')
  }
  const body = (await (await as(ownerSession.sessionToken, path)).json()) as {
    sessions: SessionView[]
    tokens: object[]
  }
  t.equal(body.sessions.length, 2)
  t.same(body.tokens, [])
  t.ok(body.sessions.every(({ current }) => !current))
  t.ok(await isValid(started, one.sessionToken))
  t.ok(await isValid(started, two.sessionToken))
  const first = body.sessions[0]?.id
  t.equal((await as(ownerSession.sessionToken, `${path}/${first}`, { method: 'DELETE' })).status, 200)
  await expectError(
    t,
    await as(ownerSession.sessionToken, `${path}/${first}`, { method: 'DELETE' }),
    404,
    'NOT_FOUND',
  )
  t.equal((await as(ownerSession.sessionToken, path, { method: 'DELETE' })).status, 200)
  t.notOk((await isValid(started, one.sessionToken)) || (await isValid(started, two.sessionToken)))
  t.ok(await isValid(started, bobs.sessionToken))
  const unknown = '/api/users/00000000-0000-4000-8000-000000000000/sessions'
  await expectError(t, await as(ownerSession.sessionToken, unknown), 404, 'NOT_FOUND')
  await expectError(t, await as(ownerSession.sessionToken, unknown, { method: 'DELETE' }), 404, 'NOT_FOUND')
})
