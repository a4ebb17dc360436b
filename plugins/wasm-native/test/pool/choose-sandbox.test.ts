import { test } from 'tap'
import { chooseSandbox, lastToShare } from '../../src/pool/choose-sandbox.ts'
import { ModuleShelf } from '../../src/pool/module-shelf.ts'
import { Run } from '../../src/pool/run.ts'
import type { Sandbox } from '../../src/pool/sandbox.ts'

const memoryBytes = 65_536

function moduleOf(hash: string, size = 8) {
  return { hash, size, bytes: async () => new Uint8Array(size) }
}

function run(hash: string, size = 8): Run {
  const limits = { timeoutMs: 1000, memoryBytes, outputBytes: 0 }
  const work = { kind: 'call', name: 'f', args: [] } as const
  return new Run(moduleOf(hash, size), work, limits, 'ada', { resolve() {}, reject() {} })
}

/** A sandbox as it stands, which has modules. Busy ones admit nobody. */
function sandbox(modules: string, state: Partial<Sandbox> = {}): Sandbox {
  const shelf = new ModuleShelf({ modules: 10, bytes: 1000 })
  for (const hash of modules) shelf.add(moduleOf(hash))
  const idle = { ready: true, doomed: false, exclusive: false, proving: null, yields: false, busy: false }
  const questions = { load: 0, admits: () => false, knows: () => false }
  return { ...idle, ...questions, memoryBytes, modules: shelf, ...state } as Sandbox
}

const yields = { yields: true }
const busy = { busy: true, load: 1 }

test('the last sandbox that short runs share', (t) => {
  const one = sandbox('')
  t.equal(lastToShare([one], { memoryBytes }), one)
  t.equal(lastToShare([one, sandbox('')], { memoryBytes }), null)
  t.equal(lastToShare([sandbox('', { memoryBytes: 1 })], { memoryBytes }), null)
  for (const state of [
    yields,
    { ready: false },
    { doomed: true },
    { exclusive: true, ...busy },
    { proving: { hash: 'a', caller: null }, ...busy },
  ]) {
    t.equal(lastToShare([sandbox('', state), one], { memoryBytes }), one, JSON.stringify(state))
  }
  t.end()
})

test('what may take long has an idle one that yields rather than the last to share', (t) => {
  const slow = sandbox('', yields)
  const last = sandbox('a')
  for (const expectation of ['unknown', 'long'] as const) {
    const sandboxes = [last, slow]
    const reserved = lastToShare(sandboxes, { memoryBytes })
    t.equal(chooseSandbox(sandboxes, run('a'), expectation, reserved), slow, expectation)
    t.equal(chooseSandbox([last], run('a'), expectation, last), null, `${expectation}, without another one`)
  }
  t.equal(chooseSandbox([last, slow], run('b'), 'short', null), last, 'and who is quick has that one')
  t.end()
})

test('the only idle one is for modules that it has, or that are loaded at once for a short run', (t) => {
  const idle = sandbox('a')
  const sandboxes = [idle, sandbox('a', busy)]
  t.equal(chooseSandbox(sandboxes, run('a'), 'unknown', null), idle)
  t.equal(chooseSandbox(sandboxes, run('b'), 'unknown', null), null)
  t.equal(chooseSandbox(sandboxes, run('b'), 'short', null), idle)
  t.equal(chooseSandbox(sandboxes, run('b', 2 ** 20), 'short', null), null)
  t.equal(chooseSandbox([sandbox(''), sandbox('a', busy)], run('b', 2 ** 20), 'short', null)?.busy, false)
  t.end()
})

test('a busy one that admits the run comes before an idle one; what takes long is behind nobody', (t) => {
  const idle = sandbox('a')
  const shared = sandbox('a', { ...busy, admits: () => true, knows: () => true })
  t.equal(chooseSandbox([idle, shared], run('a'), 'short', null), shared)
  t.equal(chooseSandbox([idle, shared], run('a'), 'unknown', null), shared, 'the caller’s own')
  t.equal(chooseSandbox([idle, shared], run('a'), 'long', null), idle)
  t.end()
})
