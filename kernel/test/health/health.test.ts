import { createTestNode, setClock } from '@nodekeep/kernel/testing'
import { definePlugin, type HealthCheck, HealthChecks } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkErrorResponse } from '../http/fixtures/error-answer.ts'

/** Creates a plugin with one health check of the same name. */
function createChecked(id: string, check: HealthCheck['check']) {
  return definePlugin({
    id,
    contributes: { checks: HealthChecks },
    setup({ checks }) {
      checks.add(id, { check })
    },
  })
}

test('a healthy node answers with exactly the documented fields', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const answer = await node.fetch('/health')
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const { uptime, ...rest } = (await answer.json()) as Record<string, unknown>
  t.same(rest, { status: 'ok', database: 'connected', ipfs: 'disabled' })
  t.ok(Number.isInteger(uptime), 'the uptime is in whole seconds')
})

test('a check that fails, throws, returns an invalid result or times out degrades the node', async (t) => {
  const checks: Record<string, HealthCheck['check']> = {
    unwell: () => ({ ok: false, state: 'full' }),
    throws: () => {
      throw new Error('/root/secret')
    },
    rejects: () => Promise.reject(null),
    nonsense: () => undefined as never,
    never: () => new Promise(() => {}),
    ipfs: async () => ({ ok: false, state: 'unreachable' }),
  }
  for (const [id, check] of Object.entries(checks)) {
    const node = await createTestNode({
      plugins: [createChecked(id, check)],
      config: { health: { timeoutMs: 500 } },
    })
    const answer = await node.fetch('/health')
    t.equal(answer.status, 200, `${id}: the node serves requests`)
    const { uptime, ...rest } = (await answer.json()) as Record<string, unknown>
    const ipfs = id === 'ipfs' ? 'unreachable' : 'disabled'
    t.same(rest, { status: 'degraded', database: 'connected', ipfs }, id)
    await node.stop()
  }
})

test('the time limit of a check aborts its signal', async (t) => {
  const told = Promise.withResolvers<void>()
  const patient = createChecked('patient', async (signal) => {
    signal.addEventListener('abort', () => told.resolve())
    return new Promise(() => {})
  })
  const node = await createTestNode({ plugins: [patient], config: { health: { timeoutMs: 50 } } })
  t.teardown(() => node.stop())
  await node.fetch('/health')
  await told.promise
})

test('the node answers 503 only if a required check fails', async (t) => {
  let well = true
  const disk = createChecked('disk', () => ({ ok: well, state: well ? 'available' : 'full' }))
  const config = { health: { required: ['disk'] } }
  for (const [now, status, word] of [
    [true, 200, 'ok'],
    [false, 503, 'degraded'],
  ] as const) {
    well = now
    const node = await createTestNode({ plugins: [disk], config })
    const answer = await node.fetch('/health')
    t.equal(answer.status, status)
    t.match(await answer.json(), { status: word, database: 'connected', ipfs: 'disabled' })
    await node.stop()
  }
  const node = await createTestNode({ config })
  t.teardown(() => node.stop())
  const answer = await node.fetch('/health')
  t.match(
    [answer.status, await answer.json()],
    [503, { status: 'degraded' }],
    'a required check that no plugin adds',
  )
  const owner = await node.signIn('owner')
  const { checks } = (await (await owner.fetch('/api/system/health')).json()) as { checks: object }
  t.match(checks, { disk: { ok: false, state: 'disabled' } }, 'the owner sees the check that failed')
})

test('each check runs at most once a second for any number of requests', async (t) => {
  let runs = 0
  const open = Promise.withResolvers<void>()
  const slow = createChecked('slow', async () => {
    runs += 1
    await open.promise
    return { ok: true, state: 'available' }
  })
  const node = await createTestNode({ plugins: [slow] })
  t.teardown(() => node.stop())
  const since = performance.now()
  const answers = Array.from({ length: 50 }, () => node.fetch('/health'))
  open.resolve()
  for (const answer of await Promise.all(answers)) t.equal(answer.status, 200)
  t.equal((await node.fetch('/health')).status, 200)
  const seconds = (performance.now() - since) / 1000
  t.ok(runs <= 1 + seconds, `${runs} runs in ${seconds} seconds`)
})

test('a failed plugin degrades the node', async (t) => {
  const broken = definePlugin({
    id: 'broken',
    setup() {
      throw new Error('no')
    },
  })
  const config = { plugins: { broken: { required: false } } }
  const node = await createTestNode({ plugins: [broken], config })
  t.teardown(() => node.stop())
  t.match(await (await node.fetch('/health')).json(), { status: 'degraded', database: 'connected' })
  const owner = await node.signIn('owner')
  t.match(await (await owner.fetch('/api/system/health')).json(), {
    attention: [{ name: 'plugins', ok: false, message: /^The plugin "broken" does not work/ }],
  })
})

test('failures come before warnings, and each has a sentence', async (t) => {
  const late = createChecked('late', () => ({ ok: true, state: 'soon', message: 'It ends soon.' }))
  const broken = createChecked('broken', () => ({ ok: false, state: 'lost' }))
  const node = await createTestNode({ plugins: [late, broken] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { attention } = (await (await owner.fetch('/api/system/health')).json()) as { attention: unknown }
  t.strictSame(attention, [
    {
      name: 'broken',
      ok: false,
      state: 'lost',
      message: 'The check "broken" fails (lost). Look at the log of the node.',
    },
    { name: 'late', ok: true, state: 'soon', message: 'It ends soon.' },
  ])
})

test('only the owner can read the result of every check', async (t) => {
  const full = { ok: false, state: 'full', message: 'Delete something.' }
  const disk = createChecked('disk', () => full)
  const node = await createTestNode({ plugins: [disk] })
  t.teardown(() => node.stop())
  t.notMatch(await (await node.fetch('/health')).text(), /Delete/)
  const owner = await node.signIn('owner')
  const answer = await owner.fetch('/api/system/health')
  const { checks, attention } = (await answer.json()) as { checks: unknown; attention: unknown }
  t.same(checks, {
    database: { ok: true, state: 'connected' },
    clock: { ok: true, state: 'steady' },
    plugins: { ok: true, state: 'running' },
    disk: full,
  })
  t.strictSame(attention, [{ name: 'disk', ...full }])
  const user = await node.signIn()
  await checkErrorResponse(t, await user.fetch('/api/system/health'), 'FORBIDDEN')
  await checkErrorResponse(t, await node.fetch('/api/system/health'), 'UNAUTHORIZED')
})

test('a clock that jumped degrades a node that serves, until it is right again', async (t) => {
  const node = await createTestNode({ config: { session: { expiryDays: 3650 } } })
  t.teardown(() => node.stop())
  t.teardown(() => setClock(null))
  const owner = await node.signIn('owner')
  const health = async () => {
    const answer = await node.fetch('/health')
    const { checks } = (await (await owner.fetch('/api/system/health')).json()) as {
      checks: { clock: object }
    }
    return [answer.status, ((await answer.json()) as { status: string }).status, checks.clock]
  }
  t.strictSame(await health(), [200, 'ok', { ok: true, state: 'steady' }])
  for (const moment of [Date.now() + 30 * 86_400_000, Date.now() - 86_400_000, 0]) {
    setClock(new Date(moment))
    const jumped = { ok: false, state: 'jumped', message: /^The clock jumped while the node was running\./ }
    while ((await health())[1] !== 'degraded') await new Promise((resolve) => setTimeout(resolve, 50))
    t.match(await health(), [200, 'degraded', jumped])
    setClock(null)
  }
  while ((await health())[1] !== 'ok') await new Promise((resolve) => setTimeout(resolve, 50))
})
