import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { nativeStand } from './fixtures/native-stand.ts'
import { childrenOf, processorMs, runs, sandboxesOf } from './fixtures/processes.ts'
import { until } from './fixtures/until.ts'

const quick =
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'
const looping = '(module (func (export "loop") (loop (br 0))))'
const spinning = `(module (func (export "spin") (param i32) (result i32)
  (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (i32.const 7)))`

/** Which of its sandboxes runs something, once one does: for longer than it takes to start. */
async function working(): Promise<number> {
  let found: number | undefined
  const before = new Map(sandboxesOf().map((pid) => [pid, processorMs(pid)]))
  await until(() => {
    found = sandboxesOf().find((pid) => processorMs(pid) - (before.get(pid) ?? Number.NaN) > 200)
    for (const pid of sandboxesOf()) if (!before.has(pid)) before.set(pid, processorMs(pid))
    return found !== undefined
  }, 'a sandbox works')
  return found ?? 0
}

test('calls whose sandbox is killed from outside are answered by another one', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2])
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 100 }, (_, index) => stand.call(quick, 'add', [index, 1]))
    for (const pid of sandboxesOf()) process.kill(pid, 'SIGKILL')
    const results = await Promise.all(calls)
    t.strictSame(
      results,
      results.map((_, index) => [index + 1]),
    )
  }
  t.ok(stand.warnings.length > 0, 'the log tells')
})

test('a call in the middle of which its sandbox is killed is tried once more, and not twice', async (t) => {
  const stand = nativeStand(t)
  const spin = stand.call(spinning, 'spin', [700_000_000], { timeoutMs: 60_000 })
  process.kill(await working(), 'SIGKILL')
  t.strictSame(await spin, [7])
  const loop = stand.call(looping, 'loop', [], { timeoutMs: 60_000 })
  const failed = t.rejects(loop, { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
  process.kill(await working(), 'SIGKILL')
  process.kill(await working(), 'SIGKILL')
  await failed
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3], 'the next one works')
})

test('nothing runs on when the runtime stops in the middle of calls', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2])
  const calls = [
    ...Array.from({ length: 4 }, () => stand.call(looping, 'loop', [], { timeoutMs: 60_000 })),
    ...Array.from({ length: 20 }, () => stand.call(quick, 'add', [1, 2])),
  ]
  const outcomes = Promise.allSettled(calls)
  await working()
  await stand.runtime.stop()
  t.same(childrenOf(), [], 'no process is left')
  for (const outcome of await outcomes) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'SERVICE_UNAVAILABLE' })
  }
  await t.rejects(stand.call(quick, 'add', [1, 2]), { code: 'SERVICE_UNAVAILABLE' })
  await stand.runtime.stop()
})

test('an aborted call leaves nothing running', async (t) => {
  const stand = nativeStand(t)
  await stand.call(quick, 'add', [1, 2])
  const controller = new AbortController()
  const options = { signal: controller.signal, timeoutMs: 60_000 }
  const loop = stand.call(looping, 'loop', [], options)
  const failed = t.rejects(loop, /left/)
  const pid = await working()
  controller.abort(new Error('left'))
  await failed
  await until(() => !runs(pid), 'its sandbox has ended')
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3])
})

test('a call that never gets its bytes can be aborted', async (t) => {
  const stand = nativeStand(t, { processes: 3 })
  const never = { hash: '0'.repeat(64), size: 10, bytes: () => new Promise<Uint8Array>(() => {}) }
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 5 }, () => stand.call(never, 'f', [], { signal }))
  const failed = Promise.all(calls.map((call) => t.rejects(call, /left/)))
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3])
  controller.abort(new Error('left'))
  await failed
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3])
})

test('no sandbox outlives a node that is killed, not even one that loops', async (t) => {
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
  t.ok(children.length >= 3, 'two sandboxes, and what keeps them')
  node.kill('SIGKILL')
  await until(() => !children.some(runs), 'they have all ended')
})

test('sandboxes that nobody needs end, and come back', async (t) => {
  const stand = nativeStand(t, { idleMs: 200 })
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3])
  t.ok(sandboxesOf().length > 0)
  await until(() => sandboxesOf().length === 0, 'they have ended')
  t.strictSame(await stand.call(quick, 'add', [1, 2]), [3])
  t.same(stand.warnings, [])
})
