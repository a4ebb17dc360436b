import assert from 'node:assert/strict'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { call } from './calling.ts'
import * as samples from './function-samples.ts'
import type { WasmCheck } from './subject.ts'

export function freshnessChecks(check: WasmCheck<FunctionRuntime>): void {
  check('a call sees nothing of the one before', async (runtime) => {
    for (let round = 0; round < 5; round += 1) {
      assert.deepEqual(await call(runtime, samples.state, 'count'), [1], 'globals and memory begin anew')
      assert.deepEqual(
        await call(runtime, samples.state, 'leftover'),
        [0],
        'memory is zero, also where it grew',
      )
    }
  })

  check('a call sees nothing of the others at the same time', async (runtime) => {
    const calls = Array.from({ length: 40 }, (_, index) =>
      call(runtime, samples.state, index % 2 === 0 ? 'count' : 'leftover'),
    )
    const results = (await Promise.all(calls)).map(([value]) => value)
    assert.deepEqual(
      results,
      results.map((_, index) => (index % 2 === 0 ? 1 : 0)),
    )
  })

  check('a module is not taken for another of the same size', async (runtime) => {
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await call(runtime, samples.twins.one, 'which'), [1])
      assert.deepEqual(await call(runtime, samples.twins.two, 'which'), [2])
    }
  })

  check('of many calls at once each has its own answer', async (runtime) => {
    const indices = Array.from({ length: 200 }, (_, index) => index)
    const results = await Promise.all(
      indices.map((index) => call(runtime, samples.numbers, 'addI32', [index, 1000])),
    )
    assert.deepEqual(
      results,
      indices.map((index) => [index + 1000]),
    )
  })
}
