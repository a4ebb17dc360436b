import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, runCommand, type TestNode, type TestNodeOptions } from '@nodekeep/kernel/testing'
import type { HealthFinding } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import attentionWebhook from '../src/index.ts'
import { full, testDisk, well } from './fixtures/disk.ts'
import { type HookServer, secret, startHookServer } from './fixtures/hook-server.ts'

t.jobs = 3

const soon: HealthFinding = { ok: true, state: 'soon', message: 'The disk is full soon.' }

interface Scene {
  readonly node: TestNode
  readonly log: string[]
}

async function startNode(
  t: Test,
  disk: ReturnType<typeof testDisk>,
  section: object,
  options: TestNodeOptions = {},
): Promise<Scene> {
  const log: string[] = []
  const node = await createTestNode({
    plugins: [disk.plugin, attentionWebhook],
    config: { 'attention-webhook': { secret, checkSeconds: 1, ...section } },
    onLog: (line) => log.push(line),
    ...options,
  })
  t.teardown(() => node.stop())
  return { node, log }
}

const typesOf = ({ requests }: HookServer) => requests.map(({ told }) => told.type)

const statusOf = async ({ fetch }: Pick<TestNode, 'fetch'>) =>
  (await (await fetch('/api/attention-webhook')).json()) as {
    receiver: string | null
    toldAt: string | null
    problem: string | null
    command: string
  }

t.test('each change is told once, and signed as Standard Webhooks says', async (t) => {
  const [hooks, disk] = [await startHookServer(t), testDisk()]
  const { node, log } = await startNode(t, disk, { url: hooks.url })
  const owner = await node.signIn('owner')
  t.match(await statusOf(owner), { receiver: new URL(hooks.url).host, toldAt: null, problem: null })

  disk.finding = full
  const [first] = await hooks.until(1)
  t.match(first?.told, {
    type: 'node.attention',
    timestamp: /^20/,
    data: {
      node: node.url.origin,
      text: 'The disk is full.',
      attention: [{ name: 'disk', ok: false, state: 'full', message: 'The disk is full.' }],
    },
  })
  t.match(first, { path: '/hook?key=k-e-y', headers: { 'content-type': 'application/json' } })

  disk.finding = { ...full, message: 'The disk has been full for 5 minutes.' }
  await disk.checked(4)
  t.equal(hooks.requests.length, 1, 'other words for the same are no news')
  disk.finding = soon
  await hooks.until(2)
  disk.finding = well
  const all = await hooks.until(3)
  t.strictSame(typesOf(hooks), ['node.attention', 'node.attention', 'node.well'])
  t.match(all[1]?.told.data.attention, [{ name: 'disk', ok: true, state: 'soon' }])
  t.match(all[2]?.told.data, { text: 'Your node is well again.', attention: [] })
  t.equal(new Set(all.map(({ id }) => id)).size, 3)
  while ((await statusOf(owner)).toldAt === null) await delay(50)
  t.notMatch(log.join('\n'), /k-e-y|whsec_/, 'the log has neither the secret nor the address')
})

t.test(
  'a receiver that is away is asked again until it has taken the message, also after a restart',
  async (t) => {
    const [hooks, disk, dataFolder] = [await startHookServer(t), testDisk(), t.testdir({})]
    hooks.answer = 'none'
    disk.finding = full
    const { url } = hooks
    const { node } = await startNode(t, disk, { url }, { dataFolder })
    const owner = await node.signIn('owner')
    while ((await statusOf(owner)).problem === null) await delay(50)
    t.match((await statusOf(owner)).problem, /^127\.0\.0\.1:\d+ cannot be reached/)
    await node.stop()

    hooks.answer = { status: 500 }
    const second = await startNode(t, disk, { url }, { dataFolder })
    const again = await second.node.signIn('owner')
    while ((await statusOf(again)).problem === null) await delay(50)
    t.match((await statusOf(again)).problem, /refused the message with the status 500\.$/)
    hooks.answer = { status: 200 }
    while ((await statusOf(again)).toldAt === null) await delay(50)
    t.equal((await statusOf(again)).problem, null)
    t.equal(new Set(hooks.requests.map(({ id }) => id)).size, 1, 'it is the same message each time')
    await second.node.stop()

    const before = hooks.requests.length
    const third = await startNode(t, disk, { url }, { dataFolder })
    disk.finding = well
    await hooks.until(before + 1)
    t.equal(typesOf(hooks).at(-1), 'node.well', 'what was told is not told again after a restart')
    await third.node.stop()
  },
)

t.test(
  'the receiver learns that the node is well, although its answer to the bad news was lost',
  async (t) => {
    const [hooks, disk] = [await startHookServer(t), testDisk()]
    hooks.answer = { status: 503 }
    await startNode(t, disk, { url: hooks.url })
    disk.finding = full
    await hooks.until(1)
    hooks.answer = { status: 204 }
    disk.finding = well
    while (typesOf(hooks).at(-1) !== 'node.well') await delay(50)
    t.pass()
  },
)

t.test('a message goes to no other address than the one of the configuration', async (t) => {
  const [hooks, other, disk] = [await startHookServer(t), await startHookServer(t), testDisk()]
  hooks.answer = { status: 307, location: other.url }
  const { node } = await startNode(t, disk, { url: hooks.url })
  const owner = await node.signIn('owner')
  const answer = await owner.fetch('/api/attention-webhook/test', { method: 'POST' })
  t.equal(answer.status, 502)
  t.match(await answer.json(), { message: /redirects to another address\. Write the last one into/ })
  t.equal(hooks.requests.length, 1)
  t.equal(other.requests.length, 0)
})

t.test('the owner sends a test, by the route and by the command', async (t) => {
  const [hooks, disk, dataFolder] = [await startHookServer(t), testDisk(), t.testdir({})]
  const { node } = await startNode(t, disk, { url: hooks.url }, { dataFolder })
  const [owner, user] = [await node.signIn('owner'), await node.signIn()]
  const { host } = new URL(hooks.url)
  const test = { method: 'POST' }
  t.equal((await node.fetch('/api/attention-webhook/test', test)).status, 401)
  t.equal((await user.fetch('/api/attention-webhook/test', test)).status, 403)
  t.equal((await user.fetch('/api/attention-webhook')).status, 403)
  const answer = await owner.fetch('/api/attention-webhook/test', test)
  t.strictSame([answer.status, await answer.json()], [200, { receiver: host }])
  t.match(hooks.requests[0]?.told, { type: 'node.test', data: { attention: [] } })

  const run = (...args: string[]) =>
    runCommand(['attention-webhook', ...args, '--data', dataFolder], { cwd: import.meta.dirname })
  t.match(await run('test'), { code: 0, stdout: `${host} has taken the test message.\n` })
  t.equal(typesOf(hooks).at(-1), 'node.test')
  t.match((await run('status')).stdout, host)
  const { secret: made } = JSON.parse((await run('secret', '--json')).stdout)
  t.match(made, /^whsec_[A-Za-z0-9+/]{43}=$/)
})

t.test('without a receiver nothing is sent, and a test says what to configure', async (t) => {
  const disk = testDisk()
  const { node } = await startNode(t, disk, {})
  const owner = await node.signIn('owner')
  t.match(await statusOf(owner), {
    receiver: null,
    toldAt: null,
    problem: null,
    command: /^\S.* attention-webhook$/,
  })
  const answer = await owner.fetch('/api/attention-webhook/test', { method: 'POST' })
  t.equal(answer.status, 409)
  t.match(await answer.json(), { message: /Set "attention-webhook\.url" and "attention-webhook\.secret"/ })
})

t.test('a configuration that cannot work is refused, without its secrets', async (t) => {
  const good = 'https://example.org/hook'
  for (const [section, reason] of [
    [{ url: 'example.org', secret }, /attention-webhook\.url \(.*\) is not the address of a receiver/],
    [{ url: 'ftp://example.org', secret }, /is not the address of a receiver/],
    [{ url: 'https://me:hush@example.org', secret }, /must not have a user name or a password/],
    [{ url: good, secret: 'hush' }, /attention-webhook\.secret/],
    [{ url: good, secret: undefined }, /The messages need a secret/],
  ] as const) {
    const config = { 'attention-webhook': section }
    const error = await createTestNode({ plugins: [attentionWebhook], config }).then(
      async (node) => node.stop(),
      (error: Error) => error,
    )
    t.match(String(error), reason)
    t.notMatch(String(error), /hush/)
  }
})
