import { AsyncLocalStorage } from 'node:async_hooks'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { databaseSchema } from '../../src/composition/database-schema.ts'
import { createLogger } from '../../src/log/logger.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { eraseDueUsers } from '../../src/users/housekeeping.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { dataFolder, type LoginNode, loginNode, owner, wallet } from '../fixtures/login-node.ts'
import { changeState, onState } from '../fixtures/state-file.ts'

const ada = wallet(1)
const absentPlugins = () => []

/** A plugin that keeps data of users under several names. */
function keeper(holders: Record<string, UserDataHolder['erase']>) {
  return definePlugin({
    id: 'keeper',
    contributes: { userData: UserData },
    setup({ userData }) {
      for (const [name, erase] of Object.entries(holders)) userData.add(name, { erase })
    },
  })
}

/** Data of a node with a user who was deleted, and whose time of grace is over. */
async function folderWithDueUser(t: Test): Promise<{ folder: string; uuid: string }> {
  const folder = await dataFolder(t)
  const node = await loginNode(t, { dataFolder: folder, config: { auth: { deletionGraceDays: 0 } } })
  const { sessionToken } = await node.enter(owner)
  const { user } = await node.enter(ada)
  const response = await node.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })
  t.equal(response.status, 200)
  await node.stop()
  return { folder, uuid: user.uuid }
}

function wallets(folder: string): unknown[] {
  return onState(folder, (database) =>
    database.prepare('SELECT wallet FROM users ORDER BY created_at').all(),
  ).map((row) => row.wallet)
}

/** Waits until a user is gone. */
async function removed({ node }: LoginNode, uuid: string): Promise<void> {
  while ((await node.accounts.get(uuid)) !== null) await new Promise((resolve) => setImmediate(resolve))
}

test('when the time of grace is over, all holders remove the data, and the user is gone', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const asked: string[] = []
  const plugin = keeper({
    files: async (user) => void asked.push(`files ${user}`),
    notes: async (user) => void asked.push(`notes ${user}`),
  })
  const node = await loginNode(t, { dataFolder: folder, plugins: [plugin] })
  await removed(node, uuid)
  await node.stop()
  t.same(asked, [`files ${uuid}`, `notes ${uuid}`])
  t.same(wallets(folder), [owner])
  const rest = onState(folder, (database) => database.prepare('SELECT user_uuid FROM logins').all())
  t.equal(rest.length, 1, 'how they signed in is gone as well')

  const later = await loginNode(t, { dataFolder: folder })
  t.not((await later.enter(ada)).user.uuid, uuid, 'who comes back is somebody new')
})

test('nobody is removed before their time, nor who is not deleted', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  changeState(folder, 'UPDATE users SET deletion_due = ? WHERE uuid = ?', Date.now() + 60_000, uuid)
  const node = await loginNode(t, {
    dataFolder: folder,
    plugins: [keeper({ files: async () => void t.fail('nobody is due') })],
  })
  await node.stop()
  t.same(wallets(folder), [owner, ada])
})

test('a user stays until every holder has succeeded, and is tried again after a restart', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const log = createLogger({ level: 'silent' })
  const calls: string[] = []
  let failing = true
  const holders: [string, UserDataHolder][] = [
    ['files', { erase: async () => void calls.push('files') }],
    [
      'notes',
      {
        async erase() {
          calls.push('notes')
          if (failing) throw new Error('the disk is busy')
        },
      },
    ],
    ['last', { erase: async () => void calls.push('last') }],
  ]
  const database = await openStateDatabase(folder, databaseSchema)
  const { signal } = new AbortController()
  await eraseDueUsers({ database, holders, absentPlugins, log }, signal)
  t.same(calls, ['files', 'notes'])
  t.match(await new UserAccounts(database).get(uuid), { disabledAt: Date })
  await eraseDueUsers({ database, holders, absentPlugins, log }, signal)
  t.same(calls, ['files', 'notes', 'files', 'notes'])
  await database.close()

  const retried = Promise.withResolvers<void>()
  const broken = keeper({
    notes: async () => {
      retried.resolve()
      throw new Error('still busy')
    },
  })
  const node = await loginNode(t, { dataFolder: folder, plugins: [broken] })
  await retried.promise
  t.equal((await node.signIn(ada)).status, 403, 'and may not sign in meanwhile')
  await node.stop()
  t.match(node.log.join(''), /"user":"[^"]+".*still busy.*could not be removed. The node tries again later/)
  t.same(wallets(folder), [owner, ada])

  failing = false
  const again = await openStateDatabase(folder, databaseSchema)
  await eraseDueUsers({ database: again, holders, absentPlugins, log }, signal)
  await again.close()
  t.equal(calls.at(-1), 'last')
  t.same(wallets(folder), [owner])
})

test('one holder’s failure keeps no other user from being removed', async (t) => {
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
    { database, holders: [['files', { erase }]], absentPlugins, log },
    new AbortController().signal,
  )
  t.equal(await accounts.get(uuid), null)
  t.not(await accounts.get(other.uuid), null)
  await database.close()
})

test('a holder that never ends does not keep the node from stopping', async (t) => {
  const { folder } = await folderWithDueUser(t)
  const asked = Promise.withResolvers<AbortSignal>()
  const plugin = keeper({
    files: (_user, signal) => {
      asked.resolve(signal)
      return new Promise(() => {})
    },
  })
  const node = await loginNode(t, { dataFolder: folder, plugins: [plugin] })
  const signal = await asked.promise
  await node.stop()
  t.ok(signal.aborted)
  t.same(wallets(folder), [owner, ada])
  t.notMatch(node.log.join(''), /"level":"error"/)
})

test('deleted users wait for the plugins that may hold their data', async (t) => {
  const { folder, uuid } = await folderWithDueUser(t)
  const lost = definePlugin({
    id: 'lost',
    setup() {
      throw new Error('The disk is not there.')
    },
  })
  const asked: string[] = []
  const plugins = [keeper({ files: async () => void asked.push('files') }), lost]
  const config = { plugins: { lost: { required: false } } }
  const node = await loginNode(t, { dataFolder: folder, plugins, config })
  await node.stop()
  t.same(asked, [])
  t.same(wallets(folder), [owner, ada])
  t.match(node.log.join(''), /"plugins":\["lost"\].*Deleted users stay until/)

  const without = await loginNode(t, {
    dataFolder: folder,
    plugins,
    config: { plugins: { lost: false as never } },
  })
  await removed(without, uuid)
  await without.stop()
  t.same(wallets(folder), [owner], 'who takes a plugin out of the configuration has said that it is gone')
})

test('a node that stops calls off what is being removed on the account of the plugin', async (t) => {
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
  const node = await loginNode(t, { dataFolder: folder, plugins: [slow] })
  await begun.promise
  await node.stop()
  t.equal(await ended.promise, 'slow')
})
