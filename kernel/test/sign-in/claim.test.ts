import { test } from 'tap'
import { Ownership } from '../../src/sign-in/ownership.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { UserAccounts } from '../../src/users/user-accounts.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { createDataFolder, startLoginNode, wallet } from '../fixtures/login-node.ts'

const [ada, bob] = [wallet(1), wallet(2)]

test('the first wallet needs the claim code, from any address', async (t) => {
  const { node, signIn, openSession, send } = await startLoginNode(t, { unclaimed: true })
  const code = node.claimCode() ?? ''
  t.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
  const missing = await expectError(t, await signIn(ada), 403, 'FORBIDDEN')
  t.match(missing, /no owner yet.*"claim"/)
  const proof = { uuid: 'x', address: ada, token: ada }
  const proxied = await send('POST', '/auth/test', proof, { 'x-forwarded-for': '127.0.0.1' })
  await expectError(t, proxied, 403, 'FORBIDDEN')
  for (const claim of [
    '',
    'AAAA-AAAA-AAAA',
    code.slice(0, -1),
    `${code}0`,
    '-',
    code.replace(/./, '\u0000'),
  ]) {
    t.equal(await expectError(t, await signIn(ada, { claim }), 403, 'FORBIDDEN'), 'The claim code is wrong.')
  }
  await expectError(t, await signIn(ada, { token: bob, claim: code }), 500, 'INTERNAL_ERROR')
  t.equal(await node.accounts.findByWallet(ada), null)

  const { user } = await openSession(ada, { claim: code })
  t.match(await node.accounts.owner(), { uuid: user.uuid, wallet: ada, owner: true })
  t.equal(node.claimCode(), null, 'the claim code is spent')
  await openSession(ada)
  t.equal(
    (await openSession(bob, { claim: code })).user.wallet,
    bob,
    'further sign-ins do not need a claim code',
  )
  t.equal((await node.accounts.owner())?.wallet, ada)
})

test('the node accepts the code in any case, with spaces and without hyphens', async (t) => {
  for (const form of [
    (code: string) => code.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l'),
    (code: string) => code.replaceAll('-', ''),
    (code: string) => ` ${code.replaceAll('-', ' ').toLowerCase()} `,
  ]) {
    const { node, openSession } = await startLoginNode(t, { unclaimed: true })
    await openSession(ada, { claim: form(node.claimCode() ?? '') })
    t.equal((await node.accounts.owner())?.wallet, ada)
    await node.stop()
  }
})

test('one of many concurrent claims makes an owner', async (t) => {
  const wallets = Array.from({ length: 20 }, (_, n) => wallet(n + 1))
  const all = Promise.withResolvers<void>()
  let proven = 0
  const { node, signIn } = await startLoginNode(t, {
    unclaimed: true,
    config: { auth: { admission: 'owner' } },
    async verify({ uuid, address }) {
      proven += 1
      if (proven === wallets.length) all.resolve()
      await all.promise
      return { uuid, address }
    },
  })
  const claim = node.claimCode() ?? ''
  const statuses = await Promise.all(wallets.map(async (each) => (await signIn(each, { claim })).status))
  t.same(statuses.toSorted(), [200, ...Array.from({ length: 19 }, () => 403)])
  const winner = wallets[statuses.indexOf(200)]
  t.equal((await node.accounts.owner())?.wallet, winner)
  const owners = (await Array.fromAsync(node.accounts.list())).filter((user) => user.owner)
  t.equal(owners.length, 1)
})

test('a restart creates another code, and a node with an owner has none', async (t) => {
  const folder = await createDataFolder(t)
  const first = await startLoginNode(t, { unclaimed: true, dataFolder: folder })
  const old = first.node.claimCode() ?? ''
  await first.stop()
  const second = await startLoginNode(t, { unclaimed: true, dataFolder: folder })
  const code = second.node.claimCode() ?? ''
  t.not(code, old)
  await expectError(t, await second.signIn(ada, { claim: old }), 403, 'FORBIDDEN')
  await second.openSession(ada, { claim: code })
  await second.stop()
  const third = await startLoginNode(t, { unclaimed: true, dataFolder: folder })
  t.equal(third.node.claimCode(), null)
  t.equal((await third.node.accounts.owner())?.wallet, ada)
})

test('the node limits clients that guess codes by their address', async (t) => {
  const auth = { signInsPerMinute: 5 }
  const { node, signIn, send } = await startLoginNode(t, { unclaimed: true, config: { auth } })
  for (let n = 0; n < 5; n += 1) await expectError(t, await signIn(ada, { claim: `X${n}` }), 403, 'FORBIDDEN')
  const refused = await signIn(ada, { claim: node.claimCode() })
  const wait = Number(refused.headers.get('retry-after'))
  t.ok(wait >= 1 && wait <= 60, `retry-after: ${wait}`)
  await expectError(t, refused, 429, 'TOO_MANY_REQUESTS')
  const proof = { uuid: 'x', address: ada, token: ada, claim: node.claimCode() }
  const disguised = await send('POST', '/auth/test', proof, { 'x-forwarded-for': '203.0.113.9' })
  await expectError(t, disguised, 429, 'TOO_MANY_REQUESTS')
  await expectError(t, await send('POST', '/auth/other', proof), 429, 'TOO_MANY_REQUESTS')
})

test('the node limits each client behind a trusted proxy separately', async (t) => {
  const server = { trustedProxies: ['127.0.0.1'], publicUrl: 'https://node.example.org' }
  const config = { auth: { signInsPerMinute: 1 }, server }
  const { send } = await startLoginNode(t, { config })
  const from = async (address: string) => {
    const proof = { uuid: 'x', address: ada, token: ada }
    const headers = { 'x-forwarded-for': address, 'x-forwarded-host': 'node.example.org' }
    return (await send('POST', '/auth/test', proof, headers)).status
  }
  t.equal(await from('203.0.113.9'), 200)
  t.equal(await from('203.0.113.9'), 429)
  t.equal(await from('203.0.113.10'), 200)
  t.equal(await from('2001:db8:1:2::1'), 200)
  t.equal(await from('2001:0DB8:1:2:ffff::7'), 429, 'the same network')
  t.equal(
    await from('1.2.3.4, 203.0.113.9'),
    429,
    'the node ignores the addresses that the client itself sends',
  )
})

test('a code matches only itself, and nothing after its use', async (t) => {
  const database = await openStateDatabase(await createDataFolder(t), databaseSchema)
  t.teardown(() => database.close())
  const establish = () => Ownership.establish(database, new UserAccounts(database), undefined)
  const [node, restarted] = [await establish(), await establish()]
  const [code, other] = [node.claimCode ?? '', restarted.claimCode ?? '']
  t.not(code, other)
  t.ok(node.mayClaim(code))
  t.notOk(node.mayClaim(other))
  node.claimed()
  t.equal(node.claimCode, null)
  t.notOk(node.mayClaim(code))
  t.notOk(node.mayClaim(''))
})
