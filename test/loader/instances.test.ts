import { createTestNode } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { fixtures } from './failing-plugins.ts'

async function start(t: Test, config: Record<string, unknown>, onLog: (line: string) => void = () => {}) {
  const node = await createTestNode({ folder: fixtures, config, onLog })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const state = (id: string) => node.plugins().find((plugin) => plugin.id === id)
  const json = async (path: string) => (await ada.fetch(path)).json()
  return { node, ask: ada.fetch, state, json }
}

test('a package under two ids has two configurations, two states and two sets of routes', async (t) => {
  const from = './says-word'
  const { json, state } = await start(t, {
    plugins: { one: { from }, two: { from }, 'says-word': { from } },
    one: { word: 'Salut' },
    two: { word: 'Servus' },
  })
  t.same(await json('/says/one'), { word: 'Salut', times: 1 })
  t.same(await json('/says/one'), { word: 'Salut', times: 2 })
  t.same(await json('/says/two'), { word: 'Servus', times: 1 })
  t.same(await json('/says/says-word'), { word: 'Hello', times: 1 })
  t.match(state('two'), { package: 'nodekeep-says-word', version: '1.2.3', state: 'active' })
})

test('a service from two plugins requires a choice and works with one', async (t) => {
  const from = './greeter'
  const plugins = {
    hello: { from, required: false },
    salut: { from, required: false },
    probe: { from: './probe' },
  }
  const sections = { hello: { word: 'Hello' }, salut: { word: 'Salut' } }
  const torn = await start(t, { plugins, ...sections })
  t.match(torn.state('hello'), {
    state: 'blocked',
    reason:
      'It provides the service "test-greeter@1", and so does "salut". Choose one with "services": { "test-greeter": "hello" }.',
  })
  t.match(torn.state('salut'), { state: 'blocked', reason: /"services": \{ "test-greeter": "salut" \}/ })
  t.match(await torn.json('/probe'), { greeting: null })

  const chosen = await start(t, { plugins, ...sections, services: { 'test-greeter': 'salut' } })
  t.match(chosen.state('hello'), { state: 'active' })
  t.match(await chosen.json('/probe'), { greeting: 'Salut' })
  t.equal(await (await chosen.ask('/greeter/hello')).text(), 'Hello')
})

test('the error about a choice of a plugin that is not loaded explains it', async (t) => {
  const { state } = await start(t, {
    plugins: {
      greeter: { from: './greeter' },
      absent: { from: './greeter', enabled: false },
      'needs-broken': { from: './needs-broken', required: false },
    },
    services: { 'test-greeter': 'absent' },
  })
  t.match(state('needs-broken'), {
    state: 'blocked',
    reason:
      /"services": \{ "test-greeter": "absent" \} chooses a plugin that is not loaded\. Load that plugin, or choose "greeter"/,
  })
})

test('a wrong choice stops the start with a message that lists the options', async (t) => {
  const plugins = { greeter: { from: './greeter' }, healthy: { from: './healthy' } }
  const cases: [services: Record<string, string>, expected: RegExp][] = [
    [{ 'test-greeter': 'greter' }, /^services\.test-greeter \(.*\) chooses "greter".* "greeter"\?$/],
    [{ 'test-greeter': 'healthy' }, /"healthy", which does not provide it\. Choose "greeter"\.$/],
    [
      { 'test-greter': 'greeter' },
      /is not a service that a plugin provides\. Did you mean "test-greeter"\?$/,
    ],
    [
      { 'user-directory': 'greeter' },
      /is a service of the kernel, which no plugin can provide\. Remove the key\.$/,
    ],
  ]
  for (const [services, message] of cases) {
    await t.rejects(createTestNode({ folder: fixtures, config: { plugins, services } }), { message })
  }
  const started = start(t, { plugins, services: { 'test-greeter': 'greeter' } })
  t.match((await started).state('greeter'), { state: 'active' })
})

test('a plugin may own a section with another name', async (t) => {
  const plugins = { 'owns-section': { from: './owns-section' } }
  const { ask } = await start(t, { plugins, estate: { size: 7 } })
  t.equal(await (await ask('/owns-section')).text(), '7')
  const config = { plugins, 'owns-section': { size: 7 } }
  await t.rejects(createTestNode({ folder: fixtures, config }), {
    message:
      /owns-section .* is not a known section\. The plugin "owns-section" reads the section "estate"\./,
  })
})

test('the section of a missing plugin does not prevent a start', async (t) => {
  const lines: string[] = []
  const plugins = { gone: { from: './not-there', required: false }, healthy: { from: './healthy' } }
  const { node, state } = await start(t, { plugins, estate: { size: 7 } }, (line) => lines.push(line))
  t.match(state('gone'), { state: 'failed', phase: 'locate' })
  t.equal((await node.fetch('/healthy')).status, 200)
  t.match(
    lines.join(''),
    /estate .* is not a known section.*may belong to a plugin that was not found: \\"gone\\"/,
  )
  await t.rejects(
    createTestNode({ folder: fixtures, config: { plugins: { healthy: { from: './healthy' } }, estate: {} } }),
    { message: /estate .* is not a known section/ },
    'a section without an owner prevents a start if no plugin is missing',
  )
})
