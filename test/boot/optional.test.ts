import { join } from 'node:path'
import t from 'tap'
import { configurationOf, failingPlugins, fixtures, idOf } from '../loader/failing-plugins.ts'
import { fromFixtures, listPlugins, presets, signInOwner, startNodeProcess } from './node-process.ts'

/** Fixtures that work but leave an error unhandled, with the reason of their state. */
const faulty = {
  'leaves-rejection-in-import': /left in import/,
  'leaves-rejection-in-setup': /left in setup \(index\.js:\d+\)$/,
  'leaves-rejection-in-start': /left in onStart/,
  'throws-in-timer': /the timer broke/,
  'throws-frozen-in-timer': /the frozen timer broke/,
  'rejects-in-timer': /a text that was thrown/,
  'routes-too-late': /Register routes before setup ends/,
}

// The tests run concurrently, because they mostly wait for plugins that hang.
t.jobs = presets.length
for (const preset of presets) {
  t.test(`${preset.name} serves despite every broken plugin`, async (t) => {
    const broken = configurationOf(failingPlugins, false, ['healthy', 'probe'])
    const plugins = Object.fromEntries(
      Object.entries(broken.plugins as Record<string, { from: string }>).map(([id, entry]) => [
        id,
        { ...entry, from: join(fixtures, entry.from) },
      ]),
    )
    const node = await startNodeProcess({
      ...broken,
      ...preset.configuration,
      plugins: { ...plugins, ...fromFixtures([...Object.keys(faulty), 'trusting-login'], false) },
    })
    t.teardown(() => node.remove())
    const url = await node.ready
    const owner = await signInOwner(url)
    const { ask } = owner
    const late = [
      /the timer broke/,
      /the frozen timer broke/,
      /a text that was thrown/,
      /Register routes before/,
    ]
    for (const fault of late) await node.logged(({ err }) => fault.test(JSON.stringify(err ?? '')))

    const listed = await listPlugins(owner)
    for (const failing of failingPlugins) {
      const { state, phase } = failing
      t.match(listed.get(idOf(failing)), { state, phase, configuredAt: /^nodekeep\.json:\d+$/ })
    }
    for (const [id, reason] of Object.entries(faulty)) {
      t.match(listed.get(id), { state: 'degraded', phase: 'run', reason })
      t.equal((await ask(`/${id}/trace`)).status, 200, `${id} answers`)
    }
    t.same(await (await ask('/healthy')).json(), { well: true })
    const checks = Object.keys(faulty).map((id) => `check-of-${id}`)
    const probe = (await (await ask('/probe')).json()) as {
      checks: string[]
      heard: string[]
      greeting: null
    }
    const remaining = probe.checks.filter((name) => name.startsWith('check-of-'))
    t.same(remaining.sort(), checks.sort(), 'no health check of a broken plugin is left')
    t.ok(probe.checks.includes('database'))
    t.same(probe.heard.sort(), Object.keys(faulty).sort(), 'no listener of a broken plugin is left')

    node.child.kill('SIGTERM')
    t.match(await node.end, { code: 0, signal: null }, 'the node stops cleanly')
  })
}
