import { createTestNode, type PluginDescription, type TestUser } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { configurationOf, failingPlugins, fixtures, idOf } from './failing-plugins.ts'

interface Listing {
  readonly plugins: readonly PluginDescription[]
}

interface Probe {
  readonly checks: readonly string[]
  readonly heard: readonly string[]
  readonly greeting: string | null
}

const json = async <T>(user: TestUser, path: string) => (await (await user.fetch(path)).json()) as T

test('a node with every plugin that can fail serves the others', async (t) => {
  const node = await createTestNode({
    folder: fixtures,
    config: configurationOf(failingPlugins, false, ['healthy', 'probe']),
  })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { plugins } = await json<Listing>(owner, '/api/system/plugins')

  for (const failing of failingPlugins) {
    const id = idOf(failing)
    t.test(id, async (t) => {
      const plugin = plugins.find((one) => one.id === id)
      t.match(plugin, { state: failing.state, phase: failing.phase, required: false, routes: [] })
      t.match(plugin?.reason, failing.reason)
      t.equal((await owner.fetch(`/${id}/trace`)).status, 404, 'the routes before the failure are gone')
      t.equal((await owner.fetch(`/${id}`)).status, 404, 'the routes after the failure are gone')
    })
  }

  t.test('the failed plugins leave nothing', async (t) => {
    t.same(await json<Probe>(owner, '/probe'), { checks: ['database', 'clock', 'plugins'], heard: [], greeting: null })
    t.equal(Reflect.get(globalThis, 'nodekeepImported'), undefined, 'a wrong SDK range prevents the import')
  })

  t.test('a plugin that could not be loaded cannot be enabled', async (t) => {
    const answer = await owner.fetch('/api/system/plugins/throws-at-import/enable', { method: 'POST' })
    t.equal(answer.status, 409)
    t.match(await answer.json(), {
      code: 'CONFLICT',
      message:
        /"throws-at-import" could not be loaded \(.*the import broke \(index\.js:1\)\)\. Fix the cause and restart the node\./,
    })
  })

  t.test('the other plugins work', async (t) => {
    t.same(await (await node.fetch('/healthy')).json(), { well: true })
    t.same(await json(owner, '/healthy/ada'), { name: 'ada' })
    t.match(
      plugins.find(({ id }) => id === 'healthy'),
      { state: 'active', phase: null, reason: null },
    )
    t.match(await (await node.fetch('/health')).json(), { status: 'degraded', database: 'connected' })
  })
})

test('CommonJS packages work, both handwritten and compiled', async (t) => {
  const node = await createTestNode({
    folder: fixtures,
    config: {
      plugins: { commonjs: { from: './commonjs' }, 'commonjs-transpiled': { from: './commonjs-transpiled' } },
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.equal(await (await ada.fetch('/commonjs')).text(), 'required')
  t.equal(await (await ada.fetch('/commonjs-transpiled')).text(), 'transpiled')
})
