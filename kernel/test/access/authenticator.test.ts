import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { Admission } from '../../src/access/admission.ts'
import { Authenticator } from '../../src/access/authenticator.ts'
import { issueSession } from '../../src/sessions/issue-session.ts'
import { SessionTable } from '../../src/sessions/session-table.ts'
import { createToken, tokenHash } from '../../src/sessions/token.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { createDataFolder, wallet } from '../fixtures/login-node.ts'

const dayMs = 86_400_000

async function setUp(t: Test, options: { readonly cacheMs?: number; readonly capacity?: number }) {
  const database = await openStateDatabase(await createDataFolder(t), databaseSchema)
  t.teardown(() => database.close())
  const accounts = new UserAccounts(database)
  const sessions = new SessionTable(database)
  const admission = new Admission({ admission: 'open', allowlist: [] })
  const authenticator = new Authenticator(sessions, accounts, admission, {
    idleDays: { session: 1, 'api-token': 1 },
    ...options,
  })
  const { uuid } = await accounts.ensure(wallet(1))
  const issue = () =>
    database.transaction((sql) => issueSession(sql, { userUuid: uuid, label: 'test', expiryDays: 1 }))
  return { authenticator, sessions, uuid, issue }
}

test('a clock that is set back does not extend a cache entry', async (t) => {
  const { authenticator, issue } = await setUp(t, { cacheMs: 50 })
  const { token } = await issue()
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  t.ok(await authenticator.authenticate(token))
  t.ok(authenticator.cached(token))
  Date.now = () => now() - dayMs / 2
  await delay(80)
  t.equal(authenticator.cached(token), undefined)
})

test('the cache keeps as many sessions as its capacity, and no wrong token', async (t) => {
  const { authenticator, issue } = await setUp(t, { capacity: 3 })
  const tokens: string[] = []
  for (let n = 0; n < 5; n += 1) tokens.push((await issue()).token)
  for (const token of tokens) await authenticator.authenticate(token)
  t.same(
    tokens.map((token) => authenticator.cached(token) !== undefined),
    [false, false, true, true, true],
  )
  const unknown = createToken('session')
  t.equal(await authenticator.authenticate(unknown), null)
  t.equal(authenticator.cached(unknown), undefined)
  t.ok(authenticator.cached(tokens[2] ?? ''), 'a wrong token evicts no session')
})

test('the last use is written when it is old, as the caller sees it', async (t) => {
  const { authenticator, sessions, issue } = await setUp(t, {})
  const { token, record } = await issue()
  const lastUse = async () => (await sessions.find(tokenHash(token)))?.lastUsedAt.getTime() ?? 0
  const issuedAt = await lastUse()
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 2 * 60_000
  const ids = new Set([record.id, 'unknown'])
  t.strictSame([...(await authenticator.liveAmong(record.userUuid, ids, 10 * 60_000)).keys()], [record.id])
  t.equal(await lastUse(), issuedAt)
  await authenticator.authenticate(token)
  t.ok((await lastUse()) >= issuedAt + 2 * 60_000)

  Date.now = () => now() + 13 * 60_000
  t.strictSame([...(await authenticator.liveAmong(record.userUuid, ids, 10 * 60_000)).keys()], [record.id])
  t.ok((await lastUse()) >= issuedAt + 13 * 60_000)
  Date.now = () => now() + 2 * 24 * 60 * 60_000
  t.equal((await authenticator.liveAmong(record.userUuid, ids, 10 * 60_000)).size, 0, 'it has expired')
})
