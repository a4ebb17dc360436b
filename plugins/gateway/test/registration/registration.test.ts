import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { test } from 'tap'
import { expectError, startGateway } from './fixtures/registering-gateway.ts'
import { createSigningNode } from './fixtures/signing-node.ts'

t.jobs = 3

const free = (subdomain: string) => ({ subdomain, registered: false, connected: false, url: null })
const taken = (subdomain: string) => ({
  subdomain,
  registered: true,
  connected: false,
  url: `https://${subdomain}.gw.test`,
})

test('a node claims a name, again without harm, and releases it', async (t) => {
  const { register, release, status } = await startGateway(t)
  const [ada, bob] = [createSigningNode(), createSigningNode()]
  t.strictSame(await status('me'), free('me'))
  for (const name of ['me', 'ME', 'Me']) {
    const answer = await register(ada, name)
    t.equal(answer.status, 200)
    t.strictSame(await answer.json(), { success: true, subdomain: 'me', url: 'https://me.gw.test' })
  }
  t.strictSame(await status('me'), taken('me'))
  t.strictSame(await status('ME'), taken('me'))

  await expectError(t, await register(bob, 'me'), 'CONFLICT', /"me" is taken\. Choose another one\.$/)
  await expectError(t, await release(bob, 'me'), 'FORBIDDEN', /^Another node has registered/)
  t.strictSame(await status('me'), taken('me'), 'the first one keeps it')

  const released = await release(ada, 'me')
  t.equal(released.status, 200)
  t.strictSame(await released.json(), { success: true })
  t.strictSame(await status('me'), free('me'))
  await expectError(t, await release(ada, 'me'), 'NOT_FOUND', /Nobody has registered the name "me"\.$/)
  t.equal((await register(bob, 'me')).status, 200)
})

test('two nodes that ask at the same time do not both get a name', async (t) => {
  const { register } = await startGateway(t)
  const nodes = Array.from({ length: 10 }, createSigningNode)
  const answers = await Promise.all(nodes.map((node) => register(node, 'wanted')))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 409)])
})

test('names and used signatures survive a restart', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-names-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const [ada, bob] = [createSigningNode(), createSigningNode()]
  const before = await startGateway(t, {}, { dataFolder })
  const nonce = 'a-nonce-that-comes-twice'
  t.equal((await before.register(ada, 'me', { nonce })).status, 200)
  await before.node.stop()
  const after = await startGateway(t, {}, { dataFolder })
  t.strictSame(await after.status('me'), taken('me'))
  await expectError(t, await after.register(bob, 'me'), 'CONFLICT', /taken/)
  await expectError(t, await after.register(ada, 'me', { nonce }), 'UNAUTHORIZED', /used before/)
  t.equal((await after.register(ada, 'me')).status, 200)
})

test('a node has as many names as the gateway allows', async (t) => {
  const { register, release } = await startGateway(t)
  const [ada, bob] = [createSigningNode(), createSigningNode()]
  for (const name of ['one', 'two', 'three']) t.equal((await register(ada, name)).status, 200)
  await expectError(t, await register(ada, 'four'), 'FORBIDDEN', /has 3 names, .* Release one first\.$/)
  t.equal((await register(ada, 'two')).status, 200, 'its own names stay')
  t.equal((await register(bob, 'four')).status, 200)
  t.equal((await release(ada, 'one')).status, 200)
  t.equal((await register(ada, 'five')).status, 200)
})

test('the configuration decides who may register, and keeps names', async (t) => {
  const [ada, bob] = [createSigningNode(), createSigningNode()]
  const { register, status } = await startGateway(t, {
    nodes: [ada.nodeId],
    names: { given: bob.nodeId },
    registration: { reserved: ['kept'] },
  })
  t.equal((await register(ada, 'me')).status, 200)
  // The second one is a replay: the gateway keeps no signatures of strangers.
  for (const nonce of ['nonce-of-a-stranger', 'nonce-of-a-stranger']) {
    const answer = await register(bob, 'you', { nonce })
    await expectError(t, answer, 'FORBIDDEN', /operator .* has to add .* to "gateway\.nodes"/)
  }
  await expectError(t, await register(ada, 'given'), 'CONFLICT', /taken/)
  await expectError(t, await register(ada, 'kept'), 'CONFLICT', /reserved/)
  t.strictSame(await status('given'), taken('given'))
  t.match(await status('kept'), { registered: true, url: null })
})

test('without registration, or without a domain, there are no such routes', async (t) => {
  const ada = createSigningNode()
  for (const config of [
    { registration: { enabled: false } },
    { domain: undefined, https: { enabled: false } },
  ]) {
    const { register } = await startGateway(t, config)
    await expectError(t, await register(ada, 'me'), 'NOT_FOUND', /There is nothing at/)
  }
})

test('a gateway with a domain that listens on no https port still gives names', async (t) => {
  const { register } = await startGateway(t, { https: { enabled: false, port: 8443 } })
  const answer = await register(createSigningNode(), 'me')
  t.match(await answer.json(), { success: true, url: 'https://me.gw.test:8443' })
})

test('requests are limited for each node', async (t) => {
  const { register, release } = await startGateway(t, { registration: { requestsPerMinute: 3 } })
  const [ada, bob] = [createSigningNode(), createSigningNode()]
  for (const name of ['one', 'two']) t.equal((await register(ada, name)).status, 200)
  t.equal((await release(ada, 'one')).status, 200)
  const refused = await release(ada, 'two')
  t.equal(refused.headers.get('retry-after'), '60')
  await expectError(t, await release(ada, 'two'), 'TOO_MANY_REQUESTS', /from your address|from this node/)
  t.equal((await register(bob, 'three')).status, 200, 'another node')
})

test('requests are limited for each address', async (t) => {
  const { register } = await startGateway(t, { registration: { requestsPerMinute: 2 } })
  for (const name of ['one', 'two']) t.equal((await register(createSigningNode(), name)).status, 200)
  const refused = await register(createSigningNode(), 'three')
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  await expectError(t, refused, 'TOO_MANY_REQUESTS', /from your address/)
})

test('the log tells who has got and released a name', async (t) => {
  const lines: string[] = []
  const { register, release } = await startGateway(t, {}, { onLog: (line) => lines.push(line) })
  const ada = createSigningNode()
  await register(ada, 'me')
  await release(ada, 'me')
  const logged = lines.map((line) => JSON.parse(line)).filter(({ name }) => name === 'me')
  t.match(logged, [
    { node: ada.nodeId, msg: 'A node has registered a name.' },
    { node: ada.nodeId, msg: 'A node has released its name.' },
  ])
})
