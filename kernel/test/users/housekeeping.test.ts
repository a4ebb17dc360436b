import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setClock } from '@nodekeep/kernel/testing'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { RegistryEntries } from '../../src/services/registry.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { eraseDueUsers } from '../../src/users/housekeeping.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { createDataFolder, type LoginNode, owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState, withState, writeDayOfRunning } from '../fixtures/state-file.ts'

const ada = wallet(1)
const absentPlugins = () => []
/** A node that has run for less than a day. */
const clock = { past: new Date(0) }

/** Creates a plugin that holds data of users under several names. */
function createHolder(holders: Record<string, UserDataHolder['erase']>) {
  return definePlugin({
    id: 'keeper',
    contributes: { userData: UserData },
    setup({ userData }) {
      for (const [name, erase] of Object.entries(holders)) userData.add(name, { erase })
    },
  })
}

function holdersOf(erasures: Record<string, UserDataHolder['erase']>): RegistryEntries<UserDataHolder> {
  const holders = new RegistryEntries<UserDataHolder>('user-data@1')
  for (const [name, erase] of Object.entries(erasures)) holders.add(name, { erase }, 'keeper')
  return holders
}

/** Creates a data folder with a deleted user whose grace period is over. */
async function folderWithDueUser(t: Test): Promise<{ folder: string; uuid: string }> {
  const folder = await createDataFolder(t)
  const node = await startLoginNode(t, { dataFolder: folder, config: { auth: { deletionGraceDays: 0 } } })
  const { sessionToken } = await node.openSession(owner)
  const { user } = await node.openSession(ada)
  const response = await node.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })
  t.equal(response.status, 200)
  await node.stop()
  // A minute ago: the clock of the machine may be set back a little meanwhile.
  const earlier =
    'UPDATE users SET disabled_at = disabled_at - 60000, deletion_due = deletion_due - 60000 WHERE uuid = ?'
  changeState(folder, earlier, user.uuid)
  return { folder, uuid: user.uuid }
}

function wallets(folder: string): unknown[] {
  return withState(folder, (database) =>
    database.prepare('SELECT wallet FROM users ORDER BY created_at').all(),
  ).map((row) => row.wallet)
}

/** Waits until a user is removed. */
async function untilRemoved({ node }: LoginNode, uuid: string): Promise<void> {
  while ((await node.accounts.get(uuid)) !== null) await new Promise((resolve) => setImmediate(resolve))
}

test('after the grace period, all holders erase their data and the node removes the user', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const calls: string[] = []
  const plugin = createHolder({
    files: async (user) => void calls.push(`files ${user}`),
    notes: async (user) => void calls.push(`notes ${user}`),
  })
  const node = await startLoginNode(t, { dataFolder: folder, plugins: [plugin] })
  await untilRemoved(node, uuid)
  await node.stop()
  t.same(calls, [`files ${uuid}`, `notes ${uuid}`])
  t.same(wallets(folder), [owner])
  const rest = withState(folder, (database) => database.prepare('SELECT user_uuid FROM logins').all())
  t.equal(rest.length, 1, 'the login of the user is removed')

  const later = await startLoginNode(t, { dataFolder: folder })
  t.not((await later.openSession(ada)).user.uuid, uuid, 'the wallet gets a new account')
})

test('the node removes only deleted users, and only after the grace period', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  changeState(folder, 'UPDATE users SET deletion_due = ? WHERE uuid = ?', Date.now() + 60_000, uuid)
  const node = await startLoginNode(t, {
    dataFolder: folder,
    plugins: [createHolder({ files: async () => void t.fail('no user is due') })],
  })
  await node.stop()
  t.same(wallets(folder), [owner, ada])
})

test('a user stays until every holder succeeds, and a restarted node tries again', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const log = createLogger({ level: 'silent' })
  const calls: string[] = []
  let failing = true
  const holders = holdersOf({
    files: async () => void calls.push('files'),
    async notes() {
      calls.push('notes')
      if (failing) throw new Error('the disk is busy')
    },
    last: async () => void calls.push('last'),
  })
  const database = await openStateDatabase(folder, databaseSchema)
  const { signal } = new AbortController()
  await eraseDueUsers({ database, holders, clock, absentPlugins, log }, signal)
  t.same(calls, ['files', 'notes'])
  t.match(await new UserAccounts(database).get(uuid), { disabledAt: Date })
  await eraseDueUsers({ database, holders, clock, absentPlugins, log }, signal)
  t.same(calls, ['files', 'notes', 'files', 'notes'])
  await database.close()

  const retried = Promise.withResolvers<void>()
  const broken = createHolder({
    notes: async () => {
      retried.resolve()
      throw new Error('still busy')
    },
  })
  const node = await startLoginNode(t, { dataFolder: folder, plugins: [broken] })
  await retried.promise
  t.equal((await node.signIn(ada)).status, 403, 'the user cannot sign in meanwhile')
  await node.stop()
  t.match(node.log.join(''), /"user":"[^"]+".*still busy.*could not be removed. The node tries again later/)
  t.same(wallets(folder), [owner, ada])

  failing = false
  const setAside = join(folder, 'plugins/notes/index.sqlite.damaged')
  mkdirSync(dirname(setAside), { recursive: true })
  for (const file of [setAside, setAside.replace('.damaged', '')]) writeFileSync(file, uuid)
  const again = await openStateDatabase(folder, databaseSchema)
  await eraseDueUsers({ database: again, holders, clock, absentPlugins, log }, signal)
  await again.close()
  t.equal(calls.at(-1), 'last')
  t.notOk(existsSync(setAside), 'a damaged database of before may tell of the user')
  t.same(wallets(folder), [owner])
})

test('a holder that fails for one user does not keep the node from removing the others', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const database = await openStateDatabase(folder, databaseSchema)
  const accounts = new UserAccounts(database)
  const other = await accounts.ensure(wallet(2))
  await database.use((sql) => sql.run('UPDATE users SET deletion_due = 1 WHERE uuid = ?', other.uuid))
  const erase = async (user: string) => {
    if (user === other.uuid) throw new Error('no')
  }
  const log = createLogger({ level: 'silent' })
  await eraseDueUsers(
    { database, holders: holdersOf({ files: erase }), clock: { past: new Date() }, absentPlugins, log },
    new AbortController().signal,
  )
  t.equal(await accounts.get(uuid), null)
  t.not(await accounts.get(other.uuid), null)
  await database.close()
})

test('a node stops while a holder hangs', async (t) => {
  const { folder } = await folderWithDueUser(t)
  const calls = Promise.withResolvers<AbortSignal>()
  const plugin = createHolder({
    files: (_user, signal) => {
      calls.resolve(signal)
      return new Promise(() => {})
    },
  })
  const node = await startLoginNode(t, { dataFolder: folder, plugins: [plugin] })
  const signal = await calls.promise
  await node.stop()
  t.ok(signal.aborted)
  t.same(wallets(folder), [owner, ada])
  t.notMatch(node.log.join(''), /"level":"error"/)
})

test('deleted users stay while a plugin that may hold their data is absent', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const lost = definePlugin({
    id: 'lost',
    setup() {
      throw new Error('The disk is not there.')
    },
  })
  const calls: string[] = []
  const plugins = [createHolder({ files: async () => void calls.push('files') }), lost]
  const config = { plugins: { lost: { required: false } } }
  const node = await startLoginNode(t, { dataFolder: folder, plugins, config })
  await node.stop()
  t.same(calls, [])
  t.same(wallets(folder), [owner, ada])
  t.match(node.log.join(''), /"plugins":\["lost"\].*Deleted users stay until/)

  const without = await startLoginNode(t, {
    dataFolder: folder,
    plugins,
    config: { plugins: { lost: false as never } },
  })
  await untilRemoved(without, uuid)
  await without.stop()
  t.same(wallets(folder), [owner], 'a plugin that is not in the configuration holds no data')
})

test('a node that stops aborts a running erasure in the fault context of the plugin', async (t) => {
  const { folder } = await folderWithDueUser(t)
  const account = new AsyncLocalStorage<string>()
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<unknown>()
  const slow = definePlugin({
    id: 'slow',
    contributes: { userData: UserData },
    setup({ userData }) {
      const erase: UserDataHolder['erase'] = (_user, signal) => {
        signal.addEventListener('abort', () => ended.resolve(account.getStore()))
        begun.resolve()
        return new Promise(() => {})
      }
      account.run('slow', () => userData.add('slow', { erase }))
    },
  })
  const node = await startLoginNode(t, { dataFolder: folder, plugins: [slow] })
  await begun.promise
  await node.stop()
  t.equal(await ended.promise, 'slow')
})

test('a clock that is ahead for a while removes neither users nor sessions', async (t) => {
  t.teardown(() => setClock(null))
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder })
  const { sessionToken } = await first.openSession(owner)
  const { user } = await first.openSession(ada)
  await first.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })
  await first.stop()
  const dayMs = 24 * 60 * 60_000
  const sessions = () => withState(folder, (state) => state.prepare('SELECT id FROM sessions').all().length)

  writeDayOfRunning(folder, Date.now())
  setClock(new Date('2099-01-01'))
  const ahead = await startLoginNode(t, {
    dataFolder: folder,
    plugins: [createHolder({ files: async () => void t.fail('the user is not due') })],
  })
  await ahead.stop()
  t.same(wallets(folder), [owner, ada])
  t.equal(sessions(), 1, 'that of the owner')
  setClock(null)
  const back = await startLoginNode(t, { dataFolder: folder })
  t.equal((await back.as(sessionToken, '/api/users')).status, 200, 'the session lives on')
  const enabled = await back.send(
    'PATCH',
    `/api/users/${user.uuid}`,
    { disabled: false },
    {
      authorization: `Bearer ${sessionToken}`,
    },
  )
  t.equal(enabled.status, 200, 'the deletion can be undone')
  await back.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })
  await back.stop()

  writeDayOfRunning(folder, Date.now() + 10 * dayMs)
  setClock(new Date(Date.now() + 11 * dayMs))
  const later = await startLoginNode(t, { dataFolder: folder })
  await untilRemoved(later, user.uuid)
})

test('a user who is deleted while the clock is in 1970 stays for the grace period', async (t) => {
  t.teardown(() => setClock(null))
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder })
  const { sessionToken } = await first.openSession(owner)
  const { user } = await first.openSession(ada)
  await first.stop()
  writeDayOfRunning(folder, Date.now())
  setClock(new Date('1970-01-01T00:01:00Z'))
  const plugins = [createHolder({ files: async () => void t.fail('the user is not due') })]
  const behind = await startLoginNode(t, { dataFolder: folder, plugins })
  t.equal((await behind.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })).status, 200)
  await behind.stop()
  setClock(null)
  const right = await startLoginNode(t, { dataFolder: folder, plugins })
  await right.stop()
  t.same(wallets(folder), [owner, ada])
  const [{ due }] = withState(folder, (state) =>
    state.prepare('SELECT max(deletion_due) AS due FROM users').all(),
  ) as [{ due: number }]
  t.ok(due > Date.now() + 5 * 24 * 60 * 60_000, new Date(due).toISOString())
})

test('a deletion that began while the clock was ahead begins anew when it is asked for again', async (t) => {
  t.teardown(() => setClock(null))
  const folder = await createDataFolder(t)
  const node = await startLoginNode(t, { dataFolder: folder })
  const { sessionToken } = await node.openSession(owner)
  const { user } = await node.openSession(ada)
  const dueAfter = async (clock: Date | null) => {
    setClock(clock)
    t.equal((await node.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })).status, 200)
    const [{ due }] = withState(folder, (state) =>
      state.prepare('SELECT max(deletion_due) AS due FROM users').all(),
    ) as [{ due: number }]
    return due
  }
  const day = 24 * 60 * 60_000
  const ahead = new Date(Date.now() + 20 * day)
  t.ok((await dueAfter(ahead)) > ahead.getTime())
  const due = await dueAfter(null)
  t.ok(due < Date.now() + 10 * day, new Date(due).toISOString())
  await node.stop()
})

test('a session that begins while the clock is in 1970 stays', async (t) => {
  t.teardown(() => setClock(null))
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder })
  await first.stop()
  writeDayOfRunning(folder, Date.now())
  setClock(new Date('1970-01-01T00:01:00Z'))
  const signedIn = await startLoginNode(t, { dataFolder: folder })
  const { sessionToken } = await signedIn.openSession(owner)
  await signedIn.stop()
  // The removal of sessions begins with the start, and a node that stops waits for it.
  await (await startLoginNode(t, { dataFolder: folder })).stop()
  const later = await startLoginNode(t, { dataFolder: folder })
  t.equal((await later.as(sessionToken, '/api/users')).status, 200)
})
