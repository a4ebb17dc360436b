import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createTestNode } from '@nodekeep/kernel/testing'
import * as sdk from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'

/** Loads a second copy of the SDK, as a plugin with its own installation does. */
async function loadSecondSdk(t: Test): Promise<typeof sdk> {
  const folder = t.testdir()
  const own = dirname(fileURLToPath(import.meta.resolve('@nodekeep/plugin-sdk/package.json')))
  for (const part of ['package.json', 'src']) {
    cpSync(join(own, part), join(folder, part), { recursive: true })
  }
  return import(pathToFileURL(join(folder, 'src/index.ts')).href)
}

interface Clock {
  now(): string
}

/** Creates a plugin that provides a service, a registry entry and an event for another plugin. */
function createClock({ definePlugin, defineService, defineEvent, HealthChecks }: typeof sdk) {
  const Ticked = defineEvent<string>('clock.ticked')
  return definePlugin({
    id: 'clock',
    contributes: { checks: HealthChecks },
    provides: { clock: defineService<Clock>('clock', 1) },
    setup({ checks, events, routes }) {
      checks.add('ticking', { check: () => ({ ok: true, state: 'ticking' }) })
      routes((app) => {
        app.post('/tick', async () => {
          events.emit(Ticked, 'noon')
          return {}
        })
      })
      return { clock: { now: () => 'noon' } }
    },
  })
}

function createWall({ definePlugin, defineService, defineEvent, NodekeepError }: typeof sdk) {
  return definePlugin({
    id: 'wall',
    requires: { clock: defineService<Clock>('clock', 1) },
    setup({ clock, events, routes }) {
      const heard = Promise.withResolvers<string>()
      events.on(defineEvent<string>('clock.ticked'), heard.resolve)
      routes((app) => {
        app.get('/now', async () => ({ now: clock.now() }))
        app.get('/heard', async () => ({ heard: await heard.promise }))
        app.get('/fail', async () => {
          throw new NodekeepError('CONFLICT', 'The wall is being painted.')
        })
      })
    },
  })
}

test('plugins with different copies of the SDK work together in one node', async (t) => {
  const second = await loadSecondSdk(t)
  const node = await createTestNode({ plugins: [createClock(second), createWall(sdk)] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const ask = async (path: string, init?: RequestInit) => (await owner.fetch(path, init)).json()
  t.strictSame(await ask('/now'), { now: 'noon' })
  await ask('/tick', { method: 'POST' })
  t.strictSame(await ask('/heard'), { heard: 'noon' })
  t.match(await ask('/api/system/health'), { checks: { ticking: { ok: true, state: 'ticking' } } })
})

test('errors of another copy of the SDK keep their code', async (t) => {
  const second = await loadSecondSdk(t)
  const node = await createTestNode({ plugins: [createClock(sdk), createWall(second)] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answer = await ada.fetch('/fail')
  t.equal(answer.status, 409)
  t.strictSame(await answer.json(), { error: true, message: 'The wall is being painted.', code: 'CONFLICT' })
})
