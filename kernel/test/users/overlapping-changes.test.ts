import { type LoginProvider, NodekeepError } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { Admission } from '../../src/access/admission.ts'
import { Authenticator } from '../../src/access/authenticator.ts'
import { loadConfiguration } from '../../src/configuration/configuration.ts'
import { createLogger } from '../../src/log/logger.ts'
import { KernelEventBus } from '../../src/services/event-bus.ts'
import { RegistryEntries } from '../../src/services/registry.ts'
import { SessionTable } from '../../src/sessions/session-table.ts'
import { UserSessions } from '../../src/sessions/user-sessions.ts'
import { Ownership } from '../../src/sign-in/ownership.ts'
import { SignIn } from '../../src/sign-in/sign-in.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { UserAdministration } from '../../src/users/user-administration.ts'
import { createDataFolder, owner, verifyAddress, wallet } from '../fixtures/login-node.ts'

const ada = wallet(1)

/** Creates the parts of a sign-in on a real database. `meanwhile` runs while the wallet is verified. */
async function createParts(t: Test, meanwhile: (administration: UserAdministration) => Promise<unknown>) {
  const data = await createDataFolder(t)
  const sources = { file: null, environment: {}, flags: { data }, workingDirectory: data }
  const { kernel: settings } = await loadConfiguration(sources)
  const database = await openStateDatabase(data, databaseSchema)
  t.teardown(() => database.close())
  const accounts = new UserAccounts(database)
  const sessions = new SessionTable(database)
  const admission = new Admission({ admission: 'open', allowlist: [] })
  const idleDays = { session: 1, 'api-token': 1 }
  const authenticator = new Authenticator(sessions, accounts, admission, { idleDays })
  const events = new KernelEventBus().scope(createLogger({ level: 'silent' }))
  const userSessions = new UserSessions({ sessions, idleDays, authenticator, events })
  const administration = new UserAdministration({
    database,
    userSessions,
    authenticator,
    deletionGraceDays: 7,
    past: () => new Date(0),
  })
  const verify: typeof verifyAddress = async (...proof) => {
    await meanwhile(administration)
    return verifyAddress(...proof)
  }
  const providers = new RegistryEntries<LoginProvider>('login-providers@1')
  providers.add('test', { verify }, 'test')
  const ownership = await Ownership.establish(database, accounts, owner)
  const signIn = new SignIn({
    providers,
    database,
    ownership,
    admission,
    userSessions,
    settings,
  })
  const request = {
    provider: 'test',
    credentials: { uuid: 'x', address: ada, token: ada },
    claim: null,
    origin: new URL('http://localhost'),
    signal: new AbortController().signal,
    label: 'test',
  }
  return {
    accounts,
    sessions,
    userSessions,
    authenticator,
    administration,
    signIn: () => signIn.signIn(request),
  }
}

type Change = (administration: UserAdministration, uuid: string) => Promise<unknown>

const disabled: Change[] = [
  (administration, uuid) => administration.update(uuid, { disabled: true }),
  (administration, uuid) => administration.delete(uuid),
]

const otherWallet: Change = (administration, uuid) => administration.setWallet(uuid, wallet(2))

test('a user who is disabled during their sign-in gets no session', async (t) => {
  for (const change of disabled) {
    let uuid = ''
    const { accounts, sessions, signIn } = await createParts(t, (administration) =>
      change(administration, uuid),
    )
    uuid = (await accounts.ensure(ada)).uuid
    await t.rejects(signIn(), { code: 'FORBIDDEN' })
    t.same(await sessions.listByUser(uuid), [])
  }
})

test('a wallet that its user loses during a sign-in gets a new account', async (t) => {
  let uuid = ''
  const { accounts, sessions, signIn } = await createParts(t, (administration) =>
    otherWallet(administration, uuid),
  )
  uuid = (await accounts.ensure(ada)).uuid
  t.not((await signIn()).user.uuid, uuid)
  t.same(await sessions.listByUser(uuid), [])
})

test('a session that begins while its user is disabled, deleted or moved to another wallet ends', async (t) => {
  for (const change of [...disabled, otherWallet]) {
    for (let turns = 0; turns < 20; turns += 1) {
      const { accounts, sessions, administration, signIn } = await createParts(t, async () => {})
      const { uuid } = await accounts.ensure(ada)
      const signingIn = signIn().catch((error: NodekeepError) => t.equal(error.code, 'FORBIDDEN'))
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      await change(administration, uuid)
      await signingIn
      t.same(await sessions.listByUser(uuid), [], `after ${turns} turns`)
    }
  }
})

test('the authenticator does not cache a session that is revoked during its lookup', async (t) => {
  const { sessions, userSessions, authenticator, signIn } = await createParts(t, async () => {})
  for (let n = 0; n < 50; n += 1) {
    const { token, user } = await signIn()
    const lookup = authenticator.authenticate(token)
    for (let turn = 0; turn < n % 7; turn += 1) await Promise.resolve()
    await userSessions.endAll(user.uuid)
    await lookup
    t.equal(authenticator.cached(token), undefined)
    t.equal(await authenticator.authenticate(token), null)
    t.same(await sessions.listByUser(user.uuid), [])
  }
})

test('a new wallet keeps the user and ends all sessions', async (t) => {
  const { accounts, authenticator, administration, signIn } = await createParts(t, async () => {})
  const { token, user } = await signIn()
  t.equal((await authenticator.authenticate(token))?.wallet, ada)
  const moved = await administration.setWallet(user.uuid, wallet(2).toLowerCase())
  t.match(moved, { uuid: user.uuid, username: user.username, wallet: wallet(2) })
  t.equal(authenticator.cached(token), undefined)
  t.equal(await authenticator.authenticate(token), null)
  t.not((await signIn()).user.uuid, user.uuid, 'the old wallet gets a new account')
  t.equal((await accounts.findByWallet(wallet(2)))?.uuid, user.uuid)
  const taken = administration.setWallet(user.uuid, ada)
  await t.rejects(taken, { code: 'CONFLICT', message: `The wallet ${ada} belongs to another user.` })
  for (const wrong of ['', '0x', ada.slice(1), `${ada}1`, 'ada'])
    await t.rejects(administration.setWallet(user.uuid, wrong), { code: 'VALIDATION_ERROR' })
  await t.rejects(administration.setWallet('nobody', wallet(3)), { code: 'NOT_FOUND' })
})

test('one of many concurrent renames to the same name succeeds', async (t) => {
  const { accounts, administration } = await createParts(t, async () => {})
  const users = await Promise.all(Array.from({ length: 10 }, (_, n) => accounts.ensure(wallet(n + 1))))
  const renames = await Promise.allSettled(
    users.map(({ uuid }) => administration.update(uuid, { username: 'countess' })),
  )
  t.equal(renames.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const rename of renames) {
    if (rename.status === 'rejected') t.equal((rename.reason as NodekeepError).code, 'CONFLICT')
  }
  await t.rejects(administration.update(users[0]?.uuid ?? '', { username: 'No' }), NodekeepError)
})
