import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { type LoginNode, owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
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

/** Starts a node with a signed-in owner, and adds a function that sends requests as the owner. */
async function startOwnedNode(t: Parameters<typeof startLoginNode>[0], config: Record<string, object> = {}) {
  const node = await startLoginNode(t, { config })
  const { sessionToken, user } = await node.openSession(owner)
  const authorization = `Bearer ${sessionToken}`
  const asOwner = (method: string, path: string, body?: object) =>
    body === undefined
      ? node.as(sessionToken, path, { method })
      : node.send(method, path, body, { authorization })
  return { ...node, asOwner, ownerUser: user }
}

async function account(response: Response): Promise<Account> {
  return ((await response.json()) as { user: Account }).user
}

const isSignedIn = async ({ as }: Pick<LoginNode, 'as'>, token: string) =>
  (await as(token, '/api/account/sessions')).status === 200

test('users choose their usernames, which follow the rules and are unique', async (t) => {
  const node = await startLoginNode(t)
  const [adas, bobs] = [await node.openSession(ada), await node.openSession(bob)]
  const rename = (token: string, body: object) =>
    node.send('PATCH', '/api/account', body, { authorization: `Bearer ${token}` })
  const done = await rename(adas.sessionToken, { username: 'ada_l-1' })
  t.strictSame(await done.json(), { user: { ...adas.user, username: 'ada_l-1' } })
  t.match(await (await node.as(adas.sessionToken, '/whoami')).json(), { user: { username: 'ada_l-1' } })
  t.equal(
    await expectError(t, await rename(bobs.sessionToken, { username: 'ada_l-1' }), 409, 'CONFLICT'),
    'The username "ada_l-1" is taken.',
  )
  t.equal(
    (await rename(adas.sessionToken, { username: 'ada_l-1' })).status,
    200,
    'a user may keep their username',
  )
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
    'a username is free after its user changes it',
  )
  const again = await node.openSession(ada)
  t.equal(again.user.username, 'ada_l-1', 'a sign-in does not change the username')
})

test('wallets with the same beginning get different usernames', async (t) => {
  const { node } = await startLoginNode(t)
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

test('one request for a rename and a ban does both or neither', async (t) => {
  const { asOwner, ownerUser, openSession, as } = await startOwnedNode(t)
  const [adas, bobs] = [await openSession(ada), await openSession(bob)]
  const path = `/api/users/${adas.user.uuid}`
  const taken = await asOwner('PATCH', path, { username: bobs.user.username, disabled: true })
  t.match(await expectError(t, taken, 409, 'CONFLICT'), /is taken\.$/)
  t.match(await account(await asOwner('GET', path)), { username: adas.user.username, disabled: null })
  t.ok(await isSignedIn({ as }, adas.sessionToken))

  const ownPath = `/api/users/${ownerUser.uuid}`
  const banned = await asOwner('PATCH', ownPath, { username: 'boss', disabled: true })
  t.match(await expectError(t, banned, 409, 'CONFLICT'), /^The owner cannot be disabled\. .*"auth\.owner"/)
  t.match(await account(await asOwner('GET', ownPath)), { username: ownerUser.username, disabled: null })

  const both = await account(await asOwner('PATCH', path, { username: 'ada', disabled: true }))
  t.match(both, { username: 'ada', disabled: String })
  t.notOk(await isSignedIn({ as }, adas.sessionToken))
  t.match(await account(await asOwner('PATCH', path, { username: 'ada-again', disabled: false })), {
    username: 'ada-again',
    disabled: null,
  })
})

test('only the owner lists the users, and one answer has all 1,200', async (t) => {
  const node = await startOwnedNode(t)
  const { sessionToken } = await node.openSession(ada)
  for (const path of ['/api/users', `/api/users/${node.ownerUser.uuid}`]) {
    await expectError(t, await node.as(sessionToken, path), 403, 'FORBIDDEN')
    await expectError(t, await node.fetch(path), 401, 'UNAUTHORIZED')
  }
  const many = `
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1198)
    INSERT INTO users (uuid, username, wallet, created_at)
    SELECT printf('%08x-0000-4000-8000-000000000000', 7919 * i), 'user' || i, printf('0x%040x', i), 1 + i / 700 FROM n`
  t.equal(changeState(node.node.dataFolder, many), 1198)
  const { users } = (await (await node.asOwner('GET', '/api/users')).json()) as { users: Account[] }
  t.equal(users.length, 1200)
  t.equal(new Set(users.map(({ uuid }) => uuid)).size, 1200)
  t.same(
    users.map(({ created }) => created),
    users.map(({ created }) => created).toSorted(),
  )
  t.strictSame(users.at(-2), {
    ...users.at(-2),
    uuid: node.ownerUser.uuid,
    owner: true,
    disabled: null,
    deletionDue: null,
  })
  t.same(users.filter((user) => user.owner).length, 1)
})

test('the owner adds wallets, which may then sign in whatever the admission is', async (t) => {
  const { asOwner, signIn, send, openSession } = await startOwnedNode(t, { auth: { admission: 'owner' } })
  await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  const added = await account(
    await asOwner('POST', '/api/users', { wallet: ada.toLowerCase(), username: 'ada' }),
  )
  t.match(added, { username: 'ada', wallet: ada, owner: false, added: String, disabled: null })
  const { sessionToken, user } = await openSession(ada)
  t.equal(user.uuid, added.uuid)
  t.strictSame(
    await account(await asOwner('POST', '/api/users', { wallet: ada })),
    added,
    'again changes nothing',
  )
  t.strictSame(
    await account(await asOwner('POST', '/api/users', { wallet: ada, username: 'other' })),
    added,
    'a user who is there keeps the name',
  )

  for (const body of [{}, { wallet: 'ada' }, { wallet: bob, username: 'B' }, { wallet: bob, owner: true }])
    await expectError(t, await asOwner('POST', '/api/users', body), 400, 'VALIDATION_ERROR')
  const taken = await asOwner('POST', '/api/users', { wallet: bob, username: 'ada' })
  t.match(await expectError(t, taken, 409, 'CONFLICT'), /is taken\.$/)
  const byUser = await send(
    'POST',
    '/api/users',
    { wallet: bob },
    { authorization: `Bearer ${sessionToken}` },
  )
  await expectError(t, byUser, 403, 'FORBIDDEN')
  const { users } = (await (await asOwner('GET', '/api/users')).json()) as { users: Account[] }
  t.equal(users.length, 2, 'refused requests add nobody')
  await asOwner('PATCH', `/api/users/${added.uuid}`, { disabled: true })
  const disabled = await asOwner('POST', '/api/users', { wallet: ada })
  t.match(await expectError(t, disabled, 409, 'CONFLICT'), /is disabled/)
})

test('a disabled user loses every session and API token at once and cannot sign in until enabled', async (t) => {
  const node = await startOwnedNode(t)
  const [one, two, bobs] = [
    await node.openSession(ada),
    await node.openSession(ada),
    await node.openSession(bob),
  ]
  t.ok((await isSignedIn(node, one.sessionToken)) && (await isSignedIn(node, two.sessionToken)))
  const path = `/api/users/${one.user.uuid}`
  const changed = await account(await node.asOwner('PATCH', path, { disabled: true }))
  t.match(changed, { uuid: one.user.uuid, disabled: /^\d{4}-.*Z$/, deletionDue: null })
  t.notOk((await isSignedIn(node, one.sessionToken)) || (await isSignedIn(node, two.sessionToken)))
  t.ok(await isSignedIn(node, bobs.sessionToken))
  t.match(await expectError(t, await node.signIn(ada), 403, 'FORBIDDEN'), /disabled/)
  t.equal((await account(await node.asOwner('PATCH', path, { disabled: true }))).disabled, changed.disabled)

  const left = await node.openSession(bob)
  changeState(node.node.dataFolder, 'UPDATE users SET disabled_at = 1 WHERE uuid = ?', left.user.uuid)
  t.notOk(await isSignedIn(node, left.sessionToken), 'a remaining session of a disabled user is not valid')

  t.match(await account(await node.asOwner('PATCH', path, { disabled: false })), { disabled: null })
  t.notOk(await isSignedIn(node, one.sessionToken), 'a revoked session stays revoked')
  t.equal((await node.openSession(ada)).user.uuid, one.user.uuid)
})

test('the owner cannot be disabled or deleted, but can be renamed', async (t) => {
  const { asOwner, ownerUser } = await startOwnedNode(t)
  const path = `/api/users/${ownerUser.uuid}`
  await expectError(t, await asOwner('PATCH', path, { disabled: true }), 409, 'CONFLICT')
  await expectError(t, await asOwner('DELETE', path), 409, 'CONFLICT')
  t.match(await account(await asOwner('PATCH', path, { username: 'the-boss' })), {
    username: 'the-boss',
    disabled: null,
    deletionDue: null,
  })
  t.equal((await asOwner('GET', '/api/users')).status, 200)
})

test('a deleted user has a grace period, in which the owner can enable them again', async (t) => {
  const node = await startOwnedNode(t, { auth: { deletionGraceDays: 3 } })
  const { sessionToken, user } = await node.openSession(ada)
  const path = `/api/users/${user.uuid}`
  const before = Date.now()
  const deleted = await account(await node.asOwner('DELETE', path))
  const due = Date.parse(deleted.deletionDue ?? '')
  t.ok(due >= before + 3 * 86_400_000 && due <= Date.now() + 3 * 86_400_000)
  t.notOk(await isSignedIn(node, sessionToken))
  await expectError(t, await node.signIn(ada), 403, 'FORBIDDEN')
  t.equal(
    (await account(await node.asOwner('DELETE', path))).deletionDue,
    deleted.deletionDue,
    'a second deletion does not extend the grace period',
  )
  t.match(await account(await node.asOwner('GET', path)), { deletionDue: deleted.deletionDue })

  t.match(await account(await node.asOwner('PATCH', path, { disabled: false })), {
    disabled: null,
    deletionDue: null,
  })
  t.equal((await node.openSession(ada)).user.uuid, user.uuid)

  await node.asOwner('DELETE', path)
  changeState(
    node.node.dataFolder,
    'UPDATE users SET deletion_due = ? WHERE uuid = ?',
    Date.now() - 1,
    user.uuid,
  )
  const late = await node.asOwner('PATCH', path, { disabled: false })
  t.match(await expectError(t, late, 409, 'CONFLICT'), /removal of this user's data has begun or begins/)
})

test('the routes refuse invalid changes and unknown users', async (t) => {
  const { asOwner, ownerUser } = await startOwnedNode(t)
  const path = `/api/users/${ownerUser.uuid}`
  for (const body of [
    {},
    { owner: true },
    { wallet: ada },
    { disabled: 'yes' },
    { username: 'A' },
    { username: 'bob', uuid: 'x' },
  ])
    await expectError(t, await asOwner('PATCH', path, body), 400, 'VALIDATION_ERROR')
  for (const uuid of ['00000000-0000-4000-8000-000000000000', 'x', "' OR 1=1 --", '%2e%2e', ada]) {
    const unknown = `/api/users/${encodeURIComponent(uuid)}`
    await expectError(t, await asOwner('GET', unknown), 404, 'NOT_FOUND')
    await expectError(t, await asOwner('DELETE', unknown), 404, 'NOT_FOUND')
    await expectError(t, await asOwner('PATCH', unknown, { username: 'nobody' }), 404, 'NOT_FOUND')
    await expectError(t, await asOwner('PATCH', unknown, { disabled: true }), 404, 'NOT_FOUND')
    await expectError(t, await asOwner('PATCH', unknown, { disabled: false }), 404, 'NOT_FOUND')
  }
})

test('the owner sees when each user came last, also after a sign-out', async (t) => {
  const node = await startOwnedNode(t)
  const before = Date.now()
  const { sessionToken } = await node.openSession(ada)
  await node.asOwner('POST', '/api/users', { wallet: bob })
  const seen = async () => {
    const { users } = (await (await node.asOwner('GET', '/api/users')).json()) as {
      users: { wallet: string; lastSeen: string | null }[]
    }
    return new Map(users.map(({ wallet, lastSeen }) => [wallet, lastSeen]))
  }
  const signedIn = (await seen()).get(ada) ?? ''
  t.ok(Date.parse(signedIn) >= before && Date.parse(signedIn) <= Date.now(), signedIn)
  t.equal((await seen()).get(bob), null, 'a user who never came')
  t.equal((await node.as(sessionToken, '/auth/logout', { method: 'POST' })).status, 200)
  t.ok(Date.parse((await seen()).get(ada) ?? '') >= before)
})
