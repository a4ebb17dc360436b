// In a process of its own: it counts listeners of the process and collected objects.
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defineEvent, definePlugin, HealthChecks } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { startSwitchNode } from './switch-node.ts'

const rounds = 20
const rang = defineEvent<void>('test.rang')

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('a plugin that starts and stops many times leaks neither listeners nor memory', async (t) => {
  const lives: WeakRef<object>[] = []
  let heard = 0
  let changes = 0
  const guest = definePlugin({
    id: 'guest',
    requires: { all: HealthChecks },
    contributes: { checks: HealthChecks },
    setup({ all, checks, events, routes }) {
      const life = { ballast: new Uint8Array(1024) }
      checks.add('guest', { check: () => ({ ok: life.ballast.length > 0, state: 'here' }) })
      events.on(rang, () => {
        heard += life.ballast.length / 1024
      })
      all.onChange(() => {
        changes += life.ballast.length / 1024
      })
      routes(
        (app) => {
          lives.push(new WeakRef(app))
          app.get('/guest', async () => life.ballast.length)
        },
        { webSockets: true },
      )
    },
  })
  const bell = definePlugin({
    id: 'bell',
    contributes: { checks: HealthChecks },
    setup({ checks, events, routes }) {
      routes((app) => {
        app.post('/ring', async () => {
          events.emit(rang, undefined)
          checks.add('bell', { check: () => ({ ok: true, state: 'here' }) })()
        })
      })
    },
  })
  const { ask, switchPlugin, state } = await startSwitchNode(t, [guest, bell])
  const processListeners = () =>
    process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  const listenersBefore = processListeners()

  for (let round = 0; round < rounds; round += 1) {
    t.equal((await switchPlugin('guest', 'disable')).status, 200)
    t.equal((await ask('/guest')).status, 404)
    t.equal((await switchPlugin('guest', 'enable')).status, 200)
    t.equal(await (await ask('/guest')).text(), '1024')
  }

  t.equal(lives.length, rounds + 1)
  t.match(state('guest'), { state: 'active', routes: { length: 2 } })
  t.equal(processListeners(), listenersBefore)
  ;[heard, changes] = [0, 0]
  await ask('/ring', { method: 'POST' })
  await setImmediate()
  t.equal(heard, 1, 'one listener gets the event')
  t.equal(changes, 2, 'one listener gets the addition and the removal of an entry')
  const health = (await (await ask('/api/system/health')).json()) as { checks: object }
  t.same(Object.keys(health.checks).sort(), ['clock', 'database', 'guest', 'plugins'])

  const alive = () => lives.filter((life) => life.deref() !== undefined).length
  for (let attempt = 0; attempt < 50 && alive() > 3; attempt += 1) {
    await setImmediate()
    collectGarbage()
  }
  t.ok(alive() <= 3, `${alive()} of ${lives.length} Fastify instances are still in memory`)
})
