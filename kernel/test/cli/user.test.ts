import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

const [ada, bob] = [wallet(1), wallet(2)]

test('user list shows the users as text and as JSON', async (t) => {
  const folder = await commandFolder(t)
  const { openSession } = await startLoginNode(t, { dataFolder: folder.data })
  t.match(await folder.run('user', 'list'), { code: 0, stdout: 'There are no users yet.\n', stderr: '' })
  t.match(await folder.run('user', 'list', '--json'), { code: 0, stdout: '[]\n' })
  const [boss, adas] = [await openSession(owner), await openSession(ada)]
  const { stdout } = await folder.run('user', 'list')
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.length, 3)
  t.match(lines[0], /^NAME +UUID +WALLET +STATE$/)
  t.match(lines[1], new RegExp(`^${boss.user.username} +${boss.user.uuid}  ${owner}  owner$`))
  t.match(lines[2], new RegExp(`^${adas.user.username} +${adas.user.uuid}  ${ada}$`))
  const users = JSON.parse((await folder.run('user', 'list', '--json')).stdout)
  t.match(users, [
    { wallet: owner, owner: true },
    { wallet: ada, owner: false, disabledAt: null },
  ])
})

test('the command changes users while the node runs', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession, signIn } = await startLoginNode(t, { dataFolder: folder.data })
  const { user } = await openSession(ada)
  const run = async (...args: string[]) => {
    const outcome = await folder.run('user', ...args)
    t.match(outcome, { code: 0, stderr: '' })
    return outcome.stdout
  }
  t.match(await run('rename', user.username, 'countess'), /^countess +[0-9a-f-]{36} {2}0x/)
  t.match(await run('disable', 'countess'), /disabled since \d{4}-/)
  t.same(await node.sessions.listByUser(user.uuid), [])
  await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  t.match(await run('delete', user.uuid), /disabled since .*, data is removed on \d{4}-/)
  t.notMatch(await run('enable', ada), /disabled|data goes/)
  t.equal((await openSession(ada)).user.username, 'countess')

  const renamed = JSON.parse(await run('rename', ada, 'lovelace', '--json'))
  t.match(renamed, { uuid: user.uuid, username: 'lovelace', disabledAt: null })
  t.match(JSON.parse(await run('rename', ada, 'countess', '--json')), { username: 'countess' })

  t.match(await run('set-wallet', 'countess', bob.toLowerCase()), new RegExp(`${user.uuid}  ${bob}\n$`))
  t.equal((await openSession(bob)).user.uuid, user.uuid, 'the user keeps their data')
  t.not((await openSession(ada)).user.uuid, user.uuid)
})

test('user add lets a wallet sign in that the admission refuses, until it is taken back', async (t) => {
  const folder = await commandFolder(t)
  const config = { auth: { admission: 'owner' } }
  const { as, openSession, signIn } = await startLoginNode(t, { dataFolder: folder.data, config })
  await openSession(owner)
  await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  const added = await folder.run('user', 'add', ada.toLowerCase(), '--username', 'ada')
  t.match(added, { code: 0, stdout: new RegExp(`^ada  [0-9a-f-]{36}  ${ada}  added\n$`) })
  t.match(added.stderr, 'ada may sign in now. "nodekeep user disable ada" takes that back.')
  const { user, sessionToken } = await openSession(ada)
  t.equal(user.username, 'ada')
  t.equal((await as(sessionToken, '/api/account/sessions')).status, 200)
  await expectError(t, await signIn(bob), 403, 'FORBIDDEN')
  const users = JSON.parse((await folder.run('user', 'list', '--json')).stdout)
  t.match(users, [{ addedAt: null }, { addedAt: /^2/ }])

  t.equal((await folder.run('user', 'disable', 'ada')).code, 0)
  await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  const disabled = await folder.run('user', 'add', ada)
  t.ok(isRefusal(disabled))
  t.match(disabled.stderr, 'is disabled. "nodekeep user enable')
  t.equal((await folder.run('user', 'enable', 'ada')).code, 0)
  t.equal((await signIn(ada)).status, 200)

  const kept = await folder.run('user', 'add', owner)
  t.match(kept, { code: 0, stderr: /is the owner, who may always sign in\.\n$/ })
})

test('the owner replaces their lost wallet, in the configuration too', async (t) => {
  const folder = await commandFolder(t, { auth: { owner: ada } })
  const config = (wallet: string) => ({ auth: { owner: wallet, admission: 'owner' } })
  const first = await startLoginNode(t, { dataFolder: folder.data, config: config(ada) })
  const { user } = await first.openSession(ada)
  const refused = await folder.run('user', 'set-wallet', ada, bob)
  t.ok(isRefusal(refused))
  t.match(refused.stderr, /"auth\.owner" in the configuration names 0x.*Write the new wallet there/)
  t.equal((await first.node.accounts.get(user.uuid))?.wallet, ada)

  await folder.configure({ auth: { owner: bob } })
  t.equal((await folder.run('user', 'list')).code, 0, 'a listing does not move the ownership')
  t.equal((await folder.run('user', 'set-wallet', ada, bob)).code, 0)
  await first.stop()
  const second = await startLoginNode(t, { dataFolder: folder.data, config: config(bob) })
  t.match(await second.node.accounts.owner(), { uuid: user.uuid, wallet: bob })
  t.equal((await second.openSession(bob)).user.uuid, user.uuid)
  await expectError(t, await second.signIn(ada), 403, 'FORBIDDEN')
})

test('an owner whose new wallet already belongs to another user gets the old user back', async (t) => {
  const folder = await commandFolder(t, { auth: { owner: bob } })
  const config = (wallet: string) => ({ auth: { owner: wallet, admission: 'owner' } })
  const first = await startLoginNode(t, { dataFolder: folder.data, config: config(ada) })
  const { user } = await first.openSession(ada)
  await first.stop()
  const made = await folder.run('session', 'create')
  t.equal(made.code, 0)
  t.match(made.stderr, `The user ${user.username} (${ada}) is no longer the owner`)
  t.match(made.stderr, `nodekeep user set-wallet ${ada} ${bob} --swap\n`)
  t.notMatch((await folder.run('session', 'create')).stderr, 'no longer', 'the message appears once')

  const second = await startLoginNode(t, { dataFolder: folder.data, config: config(bob) })
  const { user: empty } = await second.openSession(bob)
  t.not(empty.uuid, user.uuid)
  const plain = await folder.run('user', 'set-wallet', ada, bob)
  t.ok(isRefusal(plain), plain.stderr)
  t.match(plain.stderr, /belongs to another user\. With --swap/)
  const other = await folder.run('user', 'set-wallet', bob, owner)
  t.ok(isRefusal(other), other.stderr)
  t.match(other.stderr, `nodekeep user set-wallet <its old wallet> ${bob} --swap`)

  const swapped = await folder.run('user', 'set-wallet', ada, bob, '--swap')
  t.match(swapped, { code: 0, stderr: new RegExp(`nodekeep user delete ${empty.username}\n`) })
  t.match(swapped.stdout, new RegExp(`${user.uuid}  ${bob}  owner\n.*${empty.uuid}  ${ada}\n$`))
  t.same(await second.node.sessions.listByUser(empty.uuid), [], 'the sessions of the new wallet have ended')
  t.equal((await second.openSession(bob)).user.uuid, user.uuid)
  await expectError(t, await second.signIn(ada), 403, 'FORBIDDEN')
  t.equal((await folder.run('user', 'delete', empty.uuid)).code, 0)
  await second.stop()
  const third = await startLoginNode(t, { dataFolder: folder.data, config: config(bob) })
  t.match(await third.node.accounts.owner(), { uuid: user.uuid, wallet: bob })
})

test('the command swaps wallets of other users too, and the new wallet may be unused', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data, unclaimed: true })
  const { user: boss } = await openSession(owner, { claim: node.claimCode() })
  const { user } = await openSession(ada)
  t.equal((await folder.run('user', 'set-wallet', owner, ada, '--swap')).code, 0)
  t.match(await node.accounts.owner(), { uuid: boss.uuid, wallet: ada })
  t.match(await node.accounts.get(user.uuid), { wallet: owner, owner: false })
  const back = await folder.run('user', 'set-wallet', ada, owner, '--swap', '--json')
  t.match(back, { code: 0, stderr: '' })
  t.match(JSON.parse(back.stdout), { uuid: boss.uuid, wallet: owner }, 'one value, of the user who changes')
  t.equal((await folder.run('user', 'set-wallet', owner, ada, '--swap')).code, 0)
  const free = await folder.run('user', 'set-wallet', ada, bob, '--swap')
  t.match(free, { code: 0, stderr: '', stdout: new RegExp(`${boss.uuid}  ${bob}  owner\n$`) })
  const wrong = await folder.run('user', 'set-wallet', bob, '0x12', '--swap')
  t.ok(isRefusal(wrong), wrong.stderr)
})

test('the command replaces the wallet of an owner by claim code at once', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data, unclaimed: true })
  const { user } = await openSession(ada, { claim: node.claimCode() })
  t.equal((await folder.run('user', 'set-wallet', ada, bob)).code, 0)
  t.match(await node.accounts.owner(), { uuid: user.uuid, wallet: bob })
})

test('an impossible change gets one line', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data })
  await openSession(owner)
  const { user } = await openSession(ada)
  for (const [args, reason] of [
    [
      ['disable', owner],
      /The owner cannot be disabled\. Make another user the owner first: set "auth\.owner"/,
    ],
    [['delete', 'nobody'], /There is no user "nobody"\. "nodekeep user list" shows all users\./],
    [['rename', ada, owner.slice(0, 10).toLowerCase()], /The username "0x[0-9a-f]+" is taken\./],
    [['add', 'YOUR_WALLET_ADDRESS'], /is not a wallet address\. Write 0x and 40/],
    [['add', bob, '--username', owner.slice(0, 10).toLowerCase()], /is taken\./],
  ] as const) {
    const outcome = await folder.run('user', ...args)
    t.ok(isRefusal(outcome), outcome.stderr)
    t.match(outcome.stderr, reason)
  }
  t.match(await node.accounts.get(user.uuid), { ...user, disabledAt: null, authenticated: undefined })
  t.equal(await node.accounts.findByWallet(bob), null)
})
