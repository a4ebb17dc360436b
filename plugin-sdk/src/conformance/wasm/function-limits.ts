import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { assertAborted, assertFails, ends } from './assertions.ts'
import { call } from './calling.ts'
import * as samples from './function-samples.ts'
import type { WasmCheck } from './subject.ts'

const timeoutMs = 300
const memoryBytes = 8 * 2 ** 20
const pageBytes = 65_536
/** More turns than a call that runs in the process of the node needs to begin and to end. */
const eventLoopTurns = 100

export function functionLimitChecks(check: WasmCheck<FunctionRuntime>): void {
  check('a function that never returns is stopped at its time limit', async (runtime) => {
    for (const [sample, name] of [
      [samples.hostile, 'loop'],
      [samples.loopingStart, 'never'],
    ] as const) {
      const began = performance.now()
      await assertFails(call(runtime, sample, name, [], { timeoutMs }), 'UNPROCESSABLE', name)
      const took = performance.now() - began
      assert.ok(took >= timeoutMs, `it had its ${timeoutMs} ms, and not ${took.toFixed()}`)
    }
    assert.deepEqual(await call(runtime, samples.hostile, 'ok'), [1], 'the next call works')
  })

  check('a function that loops does not keep others waiting', async (runtime, skip) => {
    if (runtime.functionsAtOnce === 1) return skip('The runtime calls one function at a time.')
    await call(runtime, samples.numbers, 'i32', [0])
    await call(runtime, samples.hostile, 'ok')
    const controller = new AbortController()
    const { signal } = controller
    const looping = call(runtime, samples.hostile, 'loop', [], { timeoutMs: 600_000, signal })
    const others = Array.from({ length: 50 }, (_, index) => call(runtime, samples.numbers, 'i32', [index]))
    assert.deepEqual(
      await ends(Promise.all(others), 'a call during another one'),
      others.map((_, index) => [index]),
    )
    controller.abort()
    await assertAborted(looping, signal)
  })

  check('a function that takes long has the time that it is allowed', async (runtime) => {
    assert.deepEqual(await call(runtime, samples.hostile, 'spin', [5e7]), [])
  })

  check('a function that computes does not hold up the process of the node', async (runtime) => {
    let running = true
    const computing = call(runtime, samples.hostile, 'spin', [2e8])
    const end = () => {
      running = false
    }
    computing.then(end, end)
    let turns = 0
    while (running && turns < eventLoopTurns) {
      await setImmediate()
      turns += 1
    }
    assert.deepEqual(await computing, [])
    assert.equal(turns, eventLoopTurns, 'the event loop of the node goes on while a function computes')
  })

  check('memory ends at its limit', async (runtime) => {
    const [pages] = await call(runtime, samples.hostile, 'grow', [], { memoryBytes })
    assert.ok(Number(pages) * pageBytes <= memoryBytes, `${pages} pages`)
    assert.ok(
      Number(pages) * pageBytes > memoryBytes / 2,
      `it may use what it is allowed, not ${pages} pages`,
    )
  })

  check('a module that begins with too much is refused', async (runtime) => {
    for (const sample of [samples.hugeMemory, samples.hugeTable, samples.memoryAndTable]) {
      await assertFails(call(runtime, sample, 'run', [], { memoryBytes }), 'UNPROCESSABLE', 'too much')
    }
  })

  check('several memories have no more than one', async (runtime) => {
    const attempt = call(runtime, samples.manyMemories, 'grow', [], { memoryBytes })
    const pages = await attempt.catch(async () => {
      await assertFails(attempt, 'UNPROCESSABLE', 'several memories')
      return [0]
    })
    assert.ok(Number(pages[0]) * pageBytes <= memoryBytes, `${pages} pages`)
  })
}
