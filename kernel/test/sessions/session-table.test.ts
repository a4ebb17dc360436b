import { randomBytes, randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { type SessionRecord, SessionTable } from '../../src/sessions/session-table.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { createDataFolder, wallet } from '../fixtures/login-node.ts'

async function setUp(t: Test) {
  const database = await openStateDatabase(await createDataFolder(t), databaseSchema)
  t.teardown(() => database.close())
  const accounts = new UserAccounts(database)
  const [ada, bob] = [await accounts.ensure(wallet(1)), await accounts.ensure(wallet(2))]
  return { sessions: new SessionTable(database), database, ada: ada.uuid, bob: bob.uuid }
}

function record(userUuid: string, given: Partial<SessionRecord> = {}): SessionRecord {
  return {
    tokenHash: randomBytes(32),
    id: randomUUID(),
    userUuid,
    kind: 'session',
    label: 'test',
    scopes: null,
    createdAt: new Date(1_700_000_000_000),
    lastUsedAt: new Date(1_700_000_000_000),
    expiresAt: new Date(1_800_000_000_000),
    ...given,
  }
}

test('the table finds a session only by its hash, as it was stored', async (t) => {
  const { sessions, ada } = await setUp(t)
  for (const given of [
    record(ada),
    record(ada, {
      expiresAt: null,
      kind: 'api-token',
      scopes: ['a', 'b:c'],
      label: 'ä "quoted" \u0000 \u{1f600}',
    }),
    record(ada, { expiresAt: new Date(1) }),
  ]) {
    await sessions.create(given)
    const found = await sessions.find(given.tokenHash)
    t.same({ ...found, tokenHash: Buffer.from(found?.tokenHash ?? []) }, given)
    const other = Buffer.from(given.tokenHash)
    other.writeUInt8((other.readUInt8(31) + 1) % 256, 31)
    t.equal(await sessions.find(other), null)
    t.equal(await sessions.find(given.tokenHash.subarray(0, 31)), null)
  }
  t.equal(await sessions.find(new Uint8Array()), null)
})

test('the table refuses a second hash, a second id and an unknown user', async (t) => {
  const { sessions, ada, bob } = await setUp(t)
  const first = record(ada)
  await sessions.create(first)
  await t.rejects(sessions.create(record(bob, { tokenHash: first.tokenHash })))
  await t.rejects(sessions.create(record(bob, { id: first.id })))
  await t.rejects(sessions.create(record('nobody')))
  t.equal((await sessions.find(first.tokenHash))?.userUuid, ada)
  t.same(await sessions.listByUser(bob), [])
})

test('a use moves the time forward, never back', async (t) => {
  const { sessions, ada } = await setUp(t)
  const [plain, endless] = [record(ada), record(ada, { expiresAt: null })]
  await sessions.create(plain)
  await sessions.create(endless)
  const touched = async ({ tokenHash }: SessionRecord, used: number) => {
    await sessions.touch(tokenHash, new Date(used))
    const found = await sessions.find(tokenHash)
    return [found?.lastUsedAt.getTime(), found?.expiresAt?.getTime()]
  }
  t.same(
    await touched(plain, 1_600_000_000_000),
    [1_700_000_000_001, 1_800_000_000_000],
    'a use is after the creation, also if the clock was set back',
  )
  t.same(await touched(plain, 1_750_000_000_000), [1_750_000_000_000, 1_800_000_000_000])
  t.same(await touched(plain, 1_740_000_000_000), [1_750_000_000_000, 1_800_000_000_000])
  t.same(await touched(plain, 1_760_000_000_000), [1_760_000_000_000, 1_800_000_000_000])
  t.same(await touched(endless, 1_750_000_000_000), [1_750_000_000_000, undefined])
  t.same(
    await touched(record(ada), 1_750_000_000_000),
    [undefined, undefined],
    'a use does not create a session',
  )
})

test('the table lists a user’s sessions newest first and ends one or all of them', async (t) => {
  const { sessions, ada, bob } = await setUp(t)
  const mine = [1, 3, 2].map((time) => record(ada, { createdAt: new Date(time) }))
  const other = record(bob)
  for (const each of [...mine, other]) await sessions.create(each)
  t.same(
    (await sessions.listByUser(ada)).map(({ createdAt }) => createdAt.getTime()),
    [3, 2, 1],
  )
  const [first] = mine
  t.equal(await sessions.revoke(bob, first?.id ?? ''), false, 'a user cannot end a session of another user')
  t.equal(await sessions.revoke(ada, first?.id ?? ''), true)
  t.equal(await sessions.revoke(ada, first?.id ?? ''), false)
  t.equal(await sessions.find(first?.tokenHash ?? new Uint8Array()), null)
  t.equal(await sessions.revokeAll(ada), 2)
  t.equal(await sessions.revokeAll(ada), 0)
  t.same(await sessions.listByUser(ada), [])
  t.equal((await sessions.listByUser(bob)).length, 1)
})

test('a sweep removes what has ended only, and the removal of a user removes their sessions', async (t) => {
  const { sessions, database, ada, bob } = await setUp(t)
  const lastUsedAt = new Date(0)
  const ends = [10, 20, 30, null].map((end) =>
    record(ada, { lastUsedAt, expiresAt: end === null ? null : new Date(end) }),
  )
  const dayMs = 86_400_000
  const token = record(ada, { kind: 'api-token', scopes: [], lastUsedAt, expiresAt: null })
  for (const each of [...ends, token, record(bob)]) await sessions.create(each)
  const sweep = (time: number) =>
    sessions.sweep(new Date(time), {
      session: new Date(time - 10 * dayMs),
      'api-token': new Date(time - 20 * dayMs),
    })
  t.equal(await sweep(20), 1, 'the sweep removes sessions that end before the time, not at it')
  t.equal(await sweep(1000), 2)
  t.equal(await sweep(10 * dayMs), 0)
  t.equal(await sweep(10 * dayMs + 1), 1, 'the session without an end was not used for ten days')
  t.equal((await sessions.listByUser(ada))[0]?.id, token.id)
  t.equal(await sweep(20 * dayMs), 0)
  t.equal(await sweep(20 * dayMs + 1), 1)
  await sessions.create(token)
  await database.use((sql) => sql.run('DELETE FROM users WHERE uuid = ?', ada))
  t.same(await sessions.listByUser(ada), [])
  t.equal((await sessions.listByUser(bob)).length, 1)
})
