import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { createDataFolder, owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState } from '../fixtures/state-file.ts'

const [ada, bob, eve] = [wallet(1), wallet(2), wallet(3)]

test('the wallet of auth.owner is the owner without a claim code', async (t) => {
  const { node, openSession, as } = await startLoginNode(t, {
    config: { auth: { owner: ada.toLowerCase() } },
  })
  t.equal(node.claimCode(), null)
  await openSession(bob)
  t.equal(await node.accounts.owner(), null)
  const { sessionToken } = await openSession(ada)
  t.equal((await node.accounts.owner())?.wallet, ada)
  t.equal((await as(sessionToken, '/api/users')).status, 200)
})

test('another auth.owner moves the ownership at the next start', async (t) => {
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder, config: { auth: { owner: ada } } })
  const [adas, bobs] = [await first.openSession(ada), await first.openSession(bob)]
  t.equal((await first.as(adas.sessionToken, '/api/users')).status, 200)
  await expectError(t, await first.as(bobs.sessionToken, '/api/users'), 403, 'FORBIDDEN')
  await first.stop()

  const second = await startLoginNode(t, {
    dataFolder: folder,
    config: { auth: { owner: bob, admission: 'owner' } },
  })
  const warned = `is no longer the owner; their data stays with their account. If both wallets are yours, take the account along: nodekeep user set-wallet ${ada} ${bob} --swap`
  t.equal(second.log.filter((line) => line.includes(warned)).length, 1)
  t.equal(
    (await second.as(bobs.sessionToken, '/api/users')).status,
    200,
    'the earlier session of the new owner is valid',
  )
  await expectError(t, await second.as(adas.sessionToken, '/api/account/sessions'), 401, 'UNAUTHORIZED')
  await expectError(t, await second.signIn(ada), 403, 'FORBIDDEN')
  await second.stop()

  const third = await startLoginNode(t, { dataFolder: folder, unclaimed: true })
  t.equal((await third.node.accounts.owner())?.wallet, bob, 'the owner stays without the key')
  t.equal(third.node.claimCode(), null)
})

test('the configured owner cannot sign in while another user is the owner', async (t) => {
  const folder = await createDataFolder(t)
  const auth = { owner: ada, admission: 'owner' }
  const { node, signIn } = await startLoginNode(t, { dataFolder: folder, config: { auth } })
  // These changes are those of a command with another configuration, while the node runs.
  await node.accounts.ensure(bob)
  changeState(folder, 'UPDATE users SET owner = 1 WHERE wallet = ?', bob)
  await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  t.equal((await node.accounts.owner())?.wallet, bob)
})

test('a user who becomes the owner is enabled and their deletion is canceled', async (t) => {
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { dataFolder: folder, config: { auth: { owner: ada } } })
  const { sessionToken } = await first.openSession(ada)
  const { user } = await first.openSession(bob)
  await first.as(sessionToken, `/api/users/${user.uuid}`, { method: 'DELETE' })
  t.type((await first.node.accounts.get(user.uuid))?.deletionDue, Date)
  await first.stop()
  const second = await startLoginNode(t, { dataFolder: folder, config: { auth: { owner: bob } } })
  t.match(await second.node.accounts.get(user.uuid), { owner: true, disabledAt: null, deletionDue: null })
  t.equal((await second.openSession(bob)).user.uuid, user.uuid)
})

test('a wallet with a wrong checksum stops the start', async (t) => {
  const slip = ada.replace(/[a-fA-F]/g, (digit) => (digit < 'a' ? digit.toLowerCase() : digit.toUpperCase()))
  const start = startLoginNode(t, { config: { auth: { owner: slip } } })
  await t.rejects(start, /^auth\.owner .* checksum \(EIP-55\)\. Copy it again\.$/)
  const list = startLoginNode(t, { config: { auth: { allowlist: [bob, slip] } } })
  await t.rejects(list, /^auth\.allowlist\[1\] .* checksum \(EIP-55\)\. Copy it again\.$/)
})

test('the policy admits the owner, the allowlist too, or every wallet', async (t) => {
  const statuses = async (auth: object) => {
    const { signIn, node } = await startLoginNode(t, { config: { auth } })
    const got = []
    for (const who of [owner, ada, eve]) got.push((await signIn(who)).status)
    t.equal(
      (await Array.fromAsync(node.accounts.list())).length,
      got.filter((status) => status === 200).length,
    )
    await node.stop()
    return got
  }
  t.same(await statuses({ admission: 'owner', allowlist: [ada] }), [200, 403, 403])
  t.same(await statuses({ admission: 'allowlist', allowlist: [ada.toLowerCase()] }), [200, 200, 403])
  t.same(await statuses({ admission: 'open' }), [200, 200, 200])
})

test('a stricter policy applies to existing sessions and API tokens from the next start', async (t) => {
  const folder = await createDataFolder(t)
  const allowing = (allowlist: string[]) =>
    startLoginNode(t, { dataFolder: folder, config: { auth: { admission: 'allowlist', allowlist } } })
  const first = await allowing([ada, bob])
  const [adas, bobs] = [await first.openSession(ada), await first.openSession(bob)]
  await first.stop()
  const second = await allowing([ada])
  t.equal((await second.as(adas.sessionToken, '/api/account/sessions')).status, 200)
  await expectError(t, await second.as(bobs.sessionToken, '/api/account/sessions'), 401, 'UNAUTHORIZED')
  const who = await (await second.as(bobs.sessionToken, '/whoami')).json()
  t.strictSame(who, { user: { authenticated: false } })
  await second.stop()
  const third = await allowing([bob])
  t.equal(
    (await third.as(bobs.sessionToken, '/api/account/sessions')).status,
    200,
    'the session was not revoked',
  )
})
