import { setImmediate } from 'node:timers/promises'
import type { RegistryReader, RegistryWriter } from '@nodekeep/plugin-sdk'
import {
  type BaseContext,
  defineEvent,
  definePlugin,
  type HealthCheck,
  HealthChecks,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { startSwitchNode } from './switch-node.ts'

const rang = defineEvent<void>('test.rang')
const healthy: HealthCheck = { check: () => ({ ok: true, state: 'here' }) }

const bell = definePlugin({
  id: 'bell',
  contributes: { checks: HealthChecks },
  setup({ checks, events, routes }) {
    routes((app) => {
      app.post('/ring', async () => {
        events.emit(rang, undefined)
        checks.add('bell', healthy)()
      })
    })
  },
})

interface KeptContext extends BaseContext<unknown> {
  readonly all: RegistryReader<HealthCheck>
  readonly checks: RegistryWriter<HealthCheck>
}

/** Does everything that a plugin can do with its context. Returns the calls that reach it from then on. */
function useAll({ all, checks, events, onStop }: KeptContext) {
  const calls: string[] = []
  checks.add('late', healthy)
  events.on(rang, () => void calls.push('event'))
  all.onChange(() => calls.push('change'))
  onStop(() => void calls.push('stop hook'))
  return calls
}

async function namesOfChecks(ask: (path: string) => Promise<Response>): Promise<string[]> {
  const { checks } = (await (await ask('/api/system/health')).json()) as { checks: object }
  return Object.keys(checks)
}

test('the work of a setup after its time limit has no effect and is cleaned up at once', async (t) => {
  const done = Promise.withResolvers<string[]>()
  const gate = Promise.withResolvers<void>()
  const late = definePlugin({
    id: 'late',
    requires: { all: HealthChecks },
    contributes: { checks: HealthChecks },
    async setup(context) {
      await gate.promise
      t.ok(context.signal.aborted, 'the signal is aborted')
      context.routes((app) => {
        app.get('/late', async () => 1)
      })
      done.resolve(useAll(context))
    },
  })
  const config = { plugins: { late: { required: false } }, loader: { setupTimeoutMs: 100 } }
  const { ask, state } = await startSwitchNode(t, [late, bell], { config })
  t.match(state('late'), { state: 'failed', phase: 'setup' })
  gate.resolve()
  const calls = await done.promise
  await ask('/ring', { method: 'POST' })
  await setImmediate()
  t.same(calls, ['stop hook'])
  t.same(await namesOfChecks(ask), ['database', 'clock', 'plugins'])
  t.equal((await ask('/late')).status, 404)
  t.match(state('late'), { state: 'failed', phase: 'setup' })
})

test('a stopped plugin cannot add anything', async (t) => {
  const contexts: KeptContext[] = []
  const sticky = definePlugin({
    id: 'sticky',
    requires: { all: HealthChecks },
    contributes: { checks: HealthChecks },
    setup(context) {
      contexts.push(context)
    },
  })
  const { ask, switchPlugin } = await startSwitchNode(t, [sticky, bell])
  await switchPlugin('sticky', 'disable')
  const [first] = contexts
  if (first === undefined) throw new Error('The plugin was never set up.')
  t.ok(first.signal.aborted)
  t.throws(() => first.routes(() => {}), /Register routes before setup ends/)
  const calls = useAll(first)
  await ask('/ring', { method: 'POST' })
  await setImmediate()
  t.same(calls, ['stop hook'])
  t.same(await namesOfChecks(ask), ['database', 'clock', 'plugins'])

  await switchPlugin('sticky', 'enable')
  first.checks.add('late', healthy)
  t.same(
    await namesOfChecks(ask),
    ['database', 'clock', 'plugins'],
    'the old context has no effect after a restart of the plugin',
  )
})

test('a stopping node does not wait for a slow setup', async (t) => {
  let attempts = 0
  const begun = Promise.withResolvers<AbortSignal>()
  const slow = definePlugin({
    id: 'slow',
    setup({ signal }) {
      attempts += 1
      if (attempts === 1) throw new Error('not yet')
      begun.resolve(signal)
      return new Promise<void>(() => {})
    },
  })
  const config = { plugins: { slow: { required: false } } }
  const { node, switchPlugin } = await startSwitchNode(t, [slow, bell], { config })
  const answer = switchPlugin('slow', 'enable')
  const signal = await begun.promise
  await node.stop()
  t.match(await (await answer).json(), { plugin: { state: 'failed', reason: 'The plugin is stopping.' } })
  t.ok(signal.aborted)
})
