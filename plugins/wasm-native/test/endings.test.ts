import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { createModule, createRuntime } from './fixtures/native-stand.ts'
import { childrenOf, nicenessOf, processorMs, runs, sandboxesOf } from './fixtures/processes.ts'
import { until } from './fixtures/until.ts'
import { wat } from './fixtures/wat.ts'

const quick =
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'
const looping = '(module (func (export "loop") (loop (br 0))))'
const spinning = `(module (func (export "spin") (param i32) (result i32)
  (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (i32.const 7)))`

/** Waits until a sandbox runs something, and returns its process id. */
async function busySandbox(): Promise<number> {
  let found: number | undefined
  const before = new Map<number, number>()
  await until(() => {
    // A sandbox uses the processor for its start, too. Its priority is lowered when it has started.
    for (const pid of sandboxesOf())
      if (!before.has(pid) && nicenessOf(pid) > 0) before.set(pid, processorMs(pid))
    found = [...before.keys()].find((pid) => processorMs(pid) - (before.get(pid) ?? 0) > 100)
    return found !== undefined
  }, 'a sandbox is busy')
  return found ?? 0
}

test('calls whose sandbox is killed from outside are answered by another sandbox', async (t) => {
  const fixture = createRuntime(t)
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 100 }, (_, index) => fixture.call(quick, 'add', [index, 1]))
    await Promise.race(calls)
    // One only, the oldest: a call is tried in two sandboxes, and both could be killed under it.
    const [pid = 0] = sandboxesOf()
    process.kill(pid, 'SIGKILL')
    const results = await Promise.all(calls)
    t.strictSame(
      results,
      results.map((_, index) => [index + 1]),
    )
  }
  t.ok(fixture.warnings.length > 0, 'the log has warnings')
})

test('a call whose sandbox is killed while it runs is retried', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(quick, 'add', [1, 2])
  const spin = fixture.call(spinning, 'spin', [1_400_000_000], { timeoutMs: 60_000 })
  process.kill(await busySandbox(), 'SIGKILL')
  t.strictSame(await spin, [7])
})

test('a call whose sandbox is killed twice is not retried again', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(quick, 'add', [1, 2])
  const loop = fixture.call(looping, 'loop', [], { timeoutMs: 60_000 })
  const failed = t.rejects(loop, { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
  process.kill(await busySandbox(), 'SIGKILL')
  process.kill(await busySandbox(), 'SIGKILL')
  await failed
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3], 'the next call works')
})

test('no process runs after the runtime stops during calls', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(quick, 'add', [1, 2])
  const calls = [
    ...Array.from({ length: 4 }, () => fixture.call(looping, 'loop', [], { timeoutMs: 60_000 })),
    ...Array.from({ length: 20 }, () => fixture.call(quick, 'add', [1, 2])),
  ]
  const outcomes = Promise.allSettled(calls)
  await busySandbox()
  await fixture.runtime.stop()
  t.same(childrenOf(), [], 'no process remains')
  for (const outcome of await outcomes) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'SERVICE_UNAVAILABLE' })
  }
  await t.rejects(fixture.call(quick, 'add', [1, 2]), { code: 'SERVICE_UNAVAILABLE' })
  await fixture.runtime.stop()
})

test('an aborted call ends its sandbox', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(quick, 'add', [1, 2])
  const controller = new AbortController()
  const options = { signal: controller.signal, timeoutMs: 60_000 }
  const loop = fixture.call(looping, 'loop', [], options)
  const failed = t.rejects(loop, /the test aborted/)
  const pid = await busySandbox()
  controller.abort(new Error('the test aborted'))
  await failed
  await until(() => !runs(pid), 'its sandbox has ended')
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3])
})

test('a call that never gets its bytes can be aborted', async (t) => {
  const fixture = createRuntime(t, { processes: 3 })
  const never = { hash: '0'.repeat(64), size: 10, bytes: () => new Promise<Uint8Array>(() => {}) }
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 5 }, () => fixture.call(never, 'f', [], { signal }))
  const failed = Promise.all(calls.map((call) => t.rejects(call, /the test aborted/)))
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3])
  controller.abort(new Error('the test aborted'))
  await failed
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3])
})

test('no sandbox outlives a node that is killed, even if the sandbox loops', async (t) => {
  const node = spawn(
    process.execPath,
    ['--conditions=nodekeep-source', fileURLToPath(new URL('fixtures/killed-node.ts', import.meta.url))],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  ) as ChildProcess
  t.teardown(() => node.kill('SIGKILL'))
  await once(node.stdout ?? node, 'data')
  const parent = node.pid ?? 0
  await until(() => sandboxesOf(parent).some((pid) => processorMs(pid) > 300), 'one of its sandboxes loops')
  const children = childrenOf(parent)
  t.ok(children.length >= 3, 'the node has two sandboxes and their parent')
  node.kill('SIGKILL')
  await until(() => !children.some(runs), 'all processes have ended')
})

test('idle sandboxes end, and start again for the next call', async (t) => {
  const fixture = createRuntime(t, { idleMs: 200 })
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3])
  t.ok(sandboxesOf().length > 0)
  await until(() => sandboxesOf().length === 0, 'the sandboxes have ended')
  t.strictSame(await fixture.call(quick, 'add', [1, 2]), [3])
  t.same(fixture.warnings, [])
})

test('a caller whose module cannot be read does not fail other callers of the same module', async (t) => {
  const fixture = createRuntime(t)
  const good = createModule(await wat(quick))
  const failed = Promise.withResolvers<Uint8Array>()
  const asked = Promise.withResolvers<void>()
  const bad = {
    ...good,
    bytes() {
      asked.resolve()
      return failed.promise
    },
  }
  const refused = t.rejects(fixture.call(bad, 'add', [1, 2]), { message: 'no such file' })
  const answered = fixture.call(good, 'add', [1, 2])
  await asked.promise
  failed.reject(new Error('no such file'))
  t.strictSame(await answered, [3])
  await refused
})

test('a stop fails calls whose module is still being read', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(quick, 'add', [1, 2])
  const good = createModule(await wat(spinning))
  const call = fixture.call({ ...good, bytes: () => new Promise<never>(() => {}) }, 'spin', [1])
  const failed = t.rejects(call, { code: 'SERVICE_UNAVAILABLE' })
  await fixture.runtime.stop()
  await failed
})
