import { existsSync } from 'node:fs'
import { createTestNode, type TestNodeOptions } from '@nodekeep/kernel/testing'
import { definePlugin, NodekeepError, Type } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'

async function startNode(t: Test, options: TestNodeOptions = {}) {
  const node = await createTestNode(options)
  t.teardown(() => node.stop())
  return node
}

const greeting = definePlugin({
  id: 'greeting',
  config: Type.Object({ word: Type.String({ default: 'Hello' }) }),
  setup({ config, log, routes, state }) {
    routes((app) => {
      app.get('/greeting', async ({ user }) => ({ text: config.word, to: user?.uuid }))
      app.put('/greeting', async () => {
        await state.set('word', config.word)
        log.info('a word was kept')
        return (await state.get('word')) ?? null
      })
      app.get('/kept', async () => ({ word: (await state.get('word')) ?? null }))
    })
  },
})

test('each test node has its own port and data', async (t) => {
  const [one, two] = await Promise.all([startNode(t), startNode(t)])
  t.not(one.url.port, two.url.port)
  t.not(one.dataFolder, two.dataFolder)
  t.equal(one.url.hostname, '127.0.0.1')
  for (const node of [one, two]) t.match(await (await node.fetch('/health')).json(), { status: 'ok' })
})

test('each sign-in creates another user', async (t) => {
  const node = await startNode(t, { plugins: [greeting] })
  const [ada, grace] = await Promise.all([node.signIn(), node.signIn()])
  t.not(ada.user.uuid, grace.user.uuid)
  t.match(await (await ada.fetch('/greeting')).json(), { text: 'Hello', to: ada.user.uuid })
  t.match(await (await grace.fetch('/greeting')).json(), { to: grace.user.uuid })
  t.equal((await node.fetch('/greeting')).status, 401)
  const byToken = await node.fetch('/greeting', { headers: { authorization: `Bearer ${ada.token}` } })
  t.equal(byToken.status, 200)
  t.equal((await ada.fetch('/api/system/plugins')).status, 403)
})

test('every sign-in of the owner is the same user', async (t) => {
  const node = await startNode(t)
  const first = await node.signIn('owner')
  const second = await node.signIn('owner')
  t.equal(first.user.uuid, second.user.uuid)
  t.not(first.token, second.token)
  t.equal((await second.fetch('/api/system/plugins')).status, 200)
})

test('a request keeps its headers and its body', async (t) => {
  const echo = definePlugin({
    id: 'echo',
    setup({ routes }) {
      routes((app) => {
        app.post('/echo', async ({ headers, body }) => ({ device: headers['x-device'], body }))
      })
    },
  })
  const node = await startNode(t, { plugins: [echo] })
  const ada = await node.signIn()
  const answer = await ada.fetch('/echo', {
    method: 'POST',
    headers: { 'x-device': 'laptop', 'content-type': 'application/json' },
    body: '{"a":1}',
  })
  t.strictSame(await answer.json(), { device: 'laptop', body: { a: 1 } })
})

test('a test node takes its configuration only from the options and the given environment', async (t) => {
  process.env.NODEKEEP_GREETING__WORD = 'Process'
  t.teardown(() => delete process.env.NODEKEEP_GREETING__WORD)
  const word = async (options: TestNodeOptions) => {
    const node = await startNode(t, { plugins: [greeting], ...options })
    const ada = await node.signIn()
    return ((await (await ada.fetch('/greeting')).json()) as { text: string }).text
  }
  t.equal(await word({}), 'Hello')
  t.equal(await word({ config: { greeting: { word: 'Welcome' } } }), 'Welcome')
  t.equal(await word({ environment: { NODEKEEP_GREETING__WORD: 'Ahoy' } }), 'Ahoy')
})

test('a stop removes the data unless the options have a folder', async (t) => {
  const node = await startNode(t)
  t.ok(existsSync(node.dataFolder))
  await node.stop()
  t.notOk(existsSync(node.dataFolder))

  const dataFolder = t.testdir()
  const options = { plugins: [greeting], dataFolder }
  const before = await startNode(t, options)
  const owner = await before.signIn('owner')
  await owner.fetch('/greeting', { method: 'PUT' })
  await before.stop()
  const after = await startNode(t, options)
  const again = await after.signIn('owner')
  t.equal(again.user.uuid, owner.user.uuid)
  t.strictSame(await (await again.fetch('/kept')).json(), { word: 'Hello' })
})

test('a node that cannot start reports the reason and removes its data', async (t) => {
  let folder = ''
  const broken = definePlugin({
    id: 'broken',
    setup({ dataDir }) {
      folder = dataDir
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'The printer is on fire.')
    },
  })
  await t.rejects(
    createTestNode({ plugins: [broken] }),
    /"broken".*failed \(setup\): The printer is on fire/s,
  )
  t.notOk(existsSync(folder))
  await t.rejects(createTestNode({ config: { server: { prot: 1 } } }), /prot/)
  await t.rejects(
    createTestNode({ plugins: [greeting, greeting] }),
    /Two of the plugins have the id "greeting"/,
  )
})

test('a node starts with a failed optional plugin and shows its state', async (t) => {
  const broken = definePlugin({
    id: 'broken',
    setup() {
      throw new Error('no luck')
    },
  })
  const node = await startNode(t, {
    plugins: [broken, greeting],
    config: { plugins: { broken: { required: false } } },
  })
  const states = Object.fromEntries(node.plugins().map(({ id, state, reason }) => [id, { state, reason }]))
  t.strictSame(states, {
    broken: { state: 'failed', reason: 'no luck' },
    greeting: { state: 'active', reason: null },
  })
})

test('a test node passes its log on line by line, or writes none', async (t) => {
  const lines: string[] = []
  const node = await startNode(t, { plugins: [greeting], onLog: (line) => lines.push(line) })
  const ada = await node.signIn()
  await ada.fetch('/greeting', { method: 'PUT' })
  const entry = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'a word was kept')
  t.match(entry, { level: 'info', plugin: 'greeting' })
  t.notMatch(lines.join(''), ada.token)
})
