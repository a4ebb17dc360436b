import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type StateStore } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { Nonces } from '../src/nonces.ts'
import { startLoginNode } from './fixtures/login-node.ts'
import { credentials, Wallet } from './fixtures/wallet.ts'

const home = 'http://127.0.0.1:4200'

/** Returns the state of a plugin in a real node. */
async function pluginState(t: Test): Promise<StateStore> {
  let store: StateStore | undefined
  const plugin = definePlugin({
    id: 'holder',
    setup(context) {
      store = context.state
    },
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  if (store === undefined) throw new Error('The plugin was not set up.')
  return store
}

async function keysOf(store: StateStore): Promise<string[]> {
  const keys: string[] = []
  for await (const [key] of store.entries()) keys.push(key)
  return keys.sort()
}

test('A nonce is used once, even if many calls use it at the same time', async (t) => {
  const nonces = new Nonces(await pluginState(t), 60_000, 100)
  const { value, expires } = await nonces.issue(home)
  t.match(value, /^[0-9a-f]{32}$/)
  t.ok(expires.getTime() > Date.now())
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => nonces.consume(value, home)))
  t.equal(outcomes.filter(Boolean).length, 1)
  t.notOk(await nonces.consume('0'.repeat(32), home), 'A nonce that was never issued is refused.')
})

test('A nonce can be used only by the origin that it was asked under', async (t) => {
  const nonces = new Nonces(await pluginState(t), 60_000, 100)
  const { value } = await nonces.issue(home)
  t.notOk(await nonces.consume(value, 'https://node.example.org'))
  t.ok(await nonces.consume(value, home), 'The refused attempt has not used it up.')
})

test('Only one of two processes uses a nonce', async (t) => {
  const store = await pluginState(t)
  const issuer = new Nonces(store, 60_000, 100)
  const other = new Nonces(store, 60_000, 100)
  for (const [first, second] of [
    [issuer, other],
    [other, issuer],
    [other, new Nonces(store, 60_000, 100)],
  ] as const) {
    const { value } = await issuer.issue(home)
    const outcomes = await Promise.all([first.consume(value, home), second.consume(value, home)])
    t.equal(outcomes.filter(Boolean).length, 1)
  }
})

test('A flood of requests does not fill the disk, and the newest nonces stay valid', async (t) => {
  const store = await pluginState(t)
  const nonces = new Nonces(store, 60_000, 10)
  const issued = await Promise.all(Array.from({ length: 50 }, () => nonces.issue(home)))
  t.strictSame(
    await keysOf(store),
    issued
      .slice(-10)
      .map(({ value }) => value)
      .sort(),
  )
  t.notOk(await nonces.consume(issued[39]?.value ?? '', home))
  t.ok(await nonces.consume(issued[40]?.value ?? '', home))
  t.ok(await nonces.consume(issued[49]?.value ?? '', home))
})

test('The nonces of an earlier run count and stay valid', async (t) => {
  const store = await pluginState(t)
  const before = new Nonces(store, 60_000, 10)
  const first = await before.issue(home)
  const second = await before.issue(home)
  await before.consume(second.value, home)
  const after = new Nonces(store, 60_000, 3)
  await after.load()
  for (let more = 0; more < 3; more += 1) await after.issue(home)
  t.equal((await keysOf(store)).length, 3)
  t.notOk(await after.consume(first.value, home), 'The oldest nonce was evicted.')
  t.notOk(await after.consume(second.value, home), 'A used nonce stays used.')

  const smaller = new Nonces(store, 60_000, 1)
  await smaller.load()
  t.equal((await keysOf(store)).length, 1, 'A smaller limit applies from the start.')
})

test('A sign-in may span a restart of the node, and a used nonce stays used', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-siwe-'))
  t.after(() => rm(dataFolder, { recursive: true, force: true }))
  const wallet = Wallet.createRandom()
  const config = { server: { publicUrl: 'https://node.example.org', trustedProxies: ['127.0.0.1'] } }
  // The second run listens on another port, but the proxy in front has the same name.
  const proxy = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-host': 'node.example.org' }

  const before = await startLoginNode({}, { dataFolder, config })
  const open = await credentials(await before.nonce(proxy), wallet)
  const used = await credentials(await before.nonce(proxy), wallet)
  t.equal((await before.signIn(used, proxy)).status, 200)
  await before.node.stop()

  const after = await startLoginNode({}, { dataFolder, config })
  t.after(() => after.node.stop())
  t.match(await after.signIn(used, proxy), { status: 401, message: /nonce/ })
  t.equal((await after.signIn(open, proxy)).status, 200)
})
