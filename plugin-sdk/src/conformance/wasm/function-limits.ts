import assert from 'node:assert/strict'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { assertAborted, assertFails } from './assertions.ts'
import { call } from './calling.ts'
import * as samples from './function-samples.ts'
import type { WasmCheck } from './subject.ts'

const timeoutMs = 300
/** Much longer than stopping takes, also where a process has to be started first. */
const longestEndMs = 5000
const memoryBytes = 8 * 2 ** 20
const pageBytes = 65_536

export function functionLimitChecks(check: WasmCheck<FunctionRuntime>): void {
  check('a function that never returns is stopped at its time limit', async (runtime) => {
    for (const [sample, name] of [
      [samples.hostile, 'loop'],
      [samples.loopingStart, 'never'],
    ] as const) {
      const began = performance.now()
      await assertFails(call(runtime, sample, name, [], { timeoutMs }), 'UNPROCESSABLE', name, /time/i)
      const took = performance.now() - began
      assert.ok(took >= timeoutMs, `it had its ${timeoutMs} ms, and not ${took.toFixed()}`)
      assert.ok(took < longestEndMs, `it was stopped after ${took.toFixed()} ms`)
    }
    assert.deepEqual(await call(runtime, samples.hostile, 'ok'), [1], 'the next call works')
  })

  check('who loops does not keep others waiting', async (runtime) => {
    await call(runtime, samples.numbers, 'i32', [0])
    await call(runtime, samples.hostile, 'ok')
    const controller = new AbortController()
    const { signal } = controller
    const looping = call(runtime, samples.hostile, 'loop', [], { timeoutMs: 600_000, signal })
    const others = Array.from({ length: 50 }, (_, index) => call(runtime, samples.numbers, 'i32', [index]))
    assert.deepEqual(
      await Promise.all(others),
      others.map((_, index) => [index]),
    )
    controller.abort()
    await assertAborted(looping, signal)
  })

  check('a function that takes long has the time that it is allowed', async (runtime) => {
    assert.deepEqual(await call(runtime, samples.hostile, 'spin', [5e7]), [])
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
    for (const sample of [samples.hugeMemory, samples.hugeTable]) {
      await assertFails(
        call(runtime, sample, 'run', [], { memoryBytes }),
        'UNPROCESSABLE',
        'too much',
        /memory/,
      )
    }
  })

  check('several memories have no more than one', async (runtime) => {
    const attempt = call(runtime, samples.manyMemories, 'grow', [], { memoryBytes })
    const pages = await attempt.catch(async () => {
      await assertFails(attempt, 'UNPROCESSABLE', 'several memories', /memor/)
      return [0]
    })
    assert.ok(Number(pages[0]) * pageBytes <= memoryBytes, `${pages} pages`)
  })
}
