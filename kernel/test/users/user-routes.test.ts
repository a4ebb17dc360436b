import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { type LoginNode, loginNode, owner, wallet } from '../fixtures/login-node.ts'
import { changeState } from '../fixtures/state-file.ts'

const [ada, bob] = [wallet(1), wallet(2)]

interface Account {
  uuid: string
  username: string
  wallet: string
  owner: boolean
  created: string
  disabled: string | null
  deletionDue: string | null
}

/** A node, the owner's token, and a way to speak as the owner. */
async function ownedNode(t: Parameters<typeof loginNode>[0], config: Record<string, object> = {}) {
  const node = await loginNode(t, { config })
  const { sessionToken, user } = await node.enter(owner)
  const authorization = `Bearer ${sessionToken}`
  const boss = (method: string, path: string, body?: object) =>
    body === undefined
      ? node.as(sessionToken, path, { method })
      : node.send(method, path, body, { authorization })
  return { ...node, boss, bossUser: user }
}

async function account(response: Response): Promise<Account> {
  return ((await response.json()) as { user: Account }).user
}

const isIn = async ({ as }: Pick<LoginNode, 'as'>, token: string) =>
  (await as(token, '/api/account/sessions')).status === 200

test('people name themselves, by rules, and no two alike', async (t) => {
  const node = await loginNode(t)
  const [adas, bobs] = [await node.enter(ada), await node.enter(bob)]
  const rename = (token: string, body: object) =>
    node.send('PATCH', '/api/account', body, { authorization: `Bearer ${token}` })
  const done = await rename(adas.sessionToken, { username: 'ada_l-1' })
  t.strictSame(await done.json(), { user: { ...adas.user, username: 'ada_l-1' } })
  t.match(await (await node.as(adas.sessionToken, '/whoami')).json(), { user: { username: 'ada_l-1' } })
  t.equal(
    await expectError(t, await rename(bobs.sessionToken, { username: 'ada_l-1' }), 409, 'CONFLICT'),
    'The username "ada_l-1" is taken.',
  )
  t.equal((await rename(adas.sessionToken, { username: 'ada_l-1' })).status, 200, 'its own is not taken')
  for (const username of [
    'ab',
    '-ada',
    '_ada',
    'Ada',
    'a da',
    'adä',
    'ada\n',
    'a'.repeat(31),
    '',
    '../..',
    7,
    null,
    ['ada'],
  ])
    await expectError(t, await rename(bobs.sessionToken, { username }), 400, 'VALIDATION_ERROR')
  for (const body of [{}, { wallet: ada }, { username: 'bobbob', owner: true }, []])
    await expectError(t, await rename(bobs.sessionToken, body), 400, 'VALIDATION_ERROR')
  for (const username of ['abc', '0-_', 'a'.repeat(30)])
    t.equal((await rename(bobs.sessionToken, { username })).status, 200)
  const back = adas.user.username
  t.equal(
    (await rename(bobs.sessionToken, { username: back })).status,
    200,
    'a name that was given up is free',
  )
  const again = await node.enter(ada)
  t.equal(again.user.username, 'ada_l-1', 'signing in changes no name')
})

test('wallets that begin alike get names that differ', async (t) => {
  const { node } = await loginNode(t)
  const names = new Set<string>()
  const alike = (n: number) => `0x${'c'.repeat(36)}${n.toString(16).padStart(4, '0')}`
  for (let n = 0; n < 24; n += 1) names.add((await node.accounts.ensure(alike(n))).username)
  t.equal(names.size, 24)
  t.ok(
    [...names].every((name) => /^[a-z0-9][a-z0-9_-]{2,29}$/.test(name)),
    [...names].join(),
  )
  const same = await Promise.all(Array.from({ length: 10 }, () => node.accounts.ensure(alike(99))))
  t.equal(new Set(same.map(({ uuid }) => uuid)).size, 1)
})

test('a name and a ban that are asked for together both come, or neither', async (t) => {
  const { boss, bossUser, enter, as } = await ownedNode(t)
  const [adas, bobs] = [await enter(ada), await enter(bob)]
  const path = `/api/users/${adas.user.uuid}`
  const taken = await boss('PATCH', path, { username: bobs.user.username, disabled: true })
  t.match(await expectError(t, taken, 409, 'CONFLICT'), /is taken\.$/)
  t.match(await account(await boss('GET', path)), { username: adas.user.username, disabled: null })
  t.ok(await isIn({ as }, adas.sessionToken))

  const ownPath = `/api/users/${bossUser.uuid}`
  const banned = await boss('PATCH', ownPath, { username: 'boss', disabled: true })
  t.equal(await expectError(t, banned, 409, 'CONFLICT'), 'The owner cannot be disabled.')
  t.match(await account(await boss('GET', ownPath)), { username: bossUser.username, disabled: null })

  const both = await account(await boss('PATCH', path, { username: 'ada', disabled: true }))
  t.match(both, { username: 'ada', disabled: String })
  t.notOk(await isIn({ as }, adas.sessionToken))
  t.match(await account(await boss('PATCH', path, { username: 'ada-again', disabled: false })), {
    username: 'ada-again',
    disabled: null,
  })
})

test('the users are the owner’s to see, many as they are', async (t) => {
  const node = await ownedNode(t)
  const { sessionToken } = await node.enter(ada)
  for (const path of ['/api/users', `/api/users/${node.bossUser.uuid}`]) {
    await expectError(t, await node.as(sessionToken, path), 403, 'FORBIDDEN')
    await expectError(t, await node.fetch(path), 401, 'UNAUTHORIZED')
  }
  const many = `
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1198)
    INSERT INTO users (uuid, username, wallet, created_at)
    SELECT printf('%08x-0000-4000-8000-000000000000', 7919 * i), 'user' || i, printf('0x%040x', i), 1 + i / 700 FROM n`
  t.equal(changeState(node.node.dataFolder, many), 1198)
  const { users } = (await (await node.boss('GET', '/api/users')).json()) as { users: Account[] }
  t.equal(users.length, 1200)
  t.equal(new Set(users.map(({ uuid }) => uuid)).size, 1200)
  t.same(
    users.map(({ created }) => created),
    users.map(({ created }) => created).toSorted(),
  )
  t.strictSame(users.at(-2), {
    ...users.at(-2),
    uuid: node.bossUser.uuid,
    owner: true,
    disabled: null,
    deletionDue: null,
  })
  t.same(users.filter((user) => user.owner).length, 1)
})

test('a disabled user is out at once, with every session and API token, until enabled', async (t) => {
  const node = await ownedNode(t)
  const [one, two, bobs] = [await node.enter(ada), await node.enter(ada), await node.enter(bob)]
  t.ok((await isIn(node, one.sessionToken)) && (await isIn(node, two.sessionToken)))
  const path = `/api/users/${one.user.uuid}`
  const changed = await account(await node.boss('PATCH', path, { disabled: true }))
  t.match(changed, { uuid: one.user.uuid, disabled: /^\d{4}-.*Z$/, deletionDue: null })
  t.notOk((await isIn(node, one.sessionToken)) || (await isIn(node, two.sessionToken)))
  t.ok(await isIn(node, bobs.sessionToken))
  t.match(await expectError(t, await node.signIn(ada), 403, 'FORBIDDEN'), /disabled/)
  t.equal((await account(await node.boss('PATCH', path, { disabled: true }))).disabled, changed.disabled)

  const left = await node.enter(bob)
  changeState(node.node.dataFolder, 'UPDATE users SET disabled_at = 1 WHERE uuid = ?', left.user.uuid)
  t.notOk(await isIn(node, left.sessionToken), 'nor does a session help that was left')

  t.match(await account(await node.boss('PATCH', path, { disabled: false })), { disabled: null })
  t.notOk(await isIn(node, one.sessionToken), 'what was revoked stays so')
  t.equal((await node.enter(ada)).user.uuid, one.user.uuid)
})

test('the owner can be neither disabled nor deleted, but renamed', async (t) => {
  const { boss, bossUser } = await ownedNode(t)
  const path = `/api/users/${bossUser.uuid}`
  await expectError(t, await boss('PATCH', path, { disabled: true }), 409, 'CONFLICT')
  await expectError(t, await boss('DELETE', path), 409, 'CONFLICT')
  t.match(await account(await boss('PATCH', path, { username: 'the-boss' })), {
    username: 'the-boss',
    disabled: null,
    deletionDue: null,
  })
  t.equal((await boss('GET', '/api/users')).status, 200)
})

test('who is deleted has a time of grace, and comes back when enabled in it', async (t) => {
  const node = await ownedNode(t, { auth: { deletionGraceDays: 3 } })
  const { sessionToken, user } = await node.enter(ada)
  const path = `/api/users/${user.uuid}`
  const before = Date.now()
  const deleted = await account(await node.boss('DELETE', path))
  const due = Date.parse(deleted.deletionDue ?? '')
  t.ok(due >= before + 3 * 86_400_000 && due <= Date.now() + 3 * 86_400_000)
  t.notOk(await isIn(node, sessionToken))
  await expectError(t, await node.signIn(ada), 403, 'FORBIDDEN')
  t.equal((await account(await node.boss('DELETE', path))).deletionDue, deleted.deletionDue, 'twice is once')
  t.match(await account(await node.boss('GET', path)), { deletionDue: deleted.deletionDue })

  t.match(await account(await node.boss('PATCH', path, { disabled: false })), {
    disabled: null,
    deletionDue: null,
  })
  t.equal((await node.enter(ada)).user.uuid, user.uuid)

  await node.boss('DELETE', path)
  changeState(
    node.node.dataFolder,
    'UPDATE users SET deletion_due = ? WHERE uuid = ?',
    Date.now() - 1,
    user.uuid,
  )
  const late = await node.boss('PATCH', path, { disabled: false })
  t.match(await expectError(t, late, 409, 'CONFLICT'), /removal of this user's data has begun or begins/)
})

test('changes that make no sense are refused', async (t) => {
  const { boss, bossUser } = await ownedNode(t)
  const path = `/api/users/${bossUser.uuid}`
  for (const body of [
    {},
    { owner: true },
    { wallet: ada },
    { disabled: 'yes' },
    { username: 'A' },
    { username: 'bob', uuid: 'x' },
  ])
    await expectError(t, await boss('PATCH', path, body), 400, 'VALIDATION_ERROR')
  for (const uuid of ['00000000-0000-4000-8000-000000000000', 'x', "' OR 1=1 --", '%2e%2e', ada]) {
    const unknown = `/api/users/${encodeURIComponent(uuid)}`
    await expectError(t, await boss('GET', unknown), 404, 'NOT_FOUND')
    await expectError(t, await boss('DELETE', unknown), 404, 'NOT_FOUND')
    await expectError(t, await boss('PATCH', unknown, { username: 'nobody' }), 404, 'NOT_FOUND')
    await expectError(t, await boss('PATCH', unknown, { disabled: true }), 404, 'NOT_FOUND')
    await expectError(t, await boss('PATCH', unknown, { disabled: false }), 404, 'NOT_FOUND')
  }
})
