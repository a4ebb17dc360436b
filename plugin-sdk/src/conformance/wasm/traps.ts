import assert from 'node:assert/strict'
import type { FunctionRuntime, WasmNumber } from '../../contracts/wasm.ts'
import { assertFails } from './assertions.ts'
import { call } from './calling.ts'
import * as samples from './function-samples.ts'
import type { WasmCheck } from './subject.ts'

const traps: readonly [name: string, args: readonly WasmNumber[]][] = [
  ['unreachable', []],
  ['divide', [0]],
  ['truncate', [Number.NaN]],
  ['truncate', [1e10]],
  ['load', [65_533]],
  ['load', [-1]],
  ['indirect', []],
  ['recurse', []],
]

export function trapChecks(check: WasmCheck<FunctionRuntime>): void {
  check('a trap is told, and the next call works', async (runtime) => {
    for (const [name, args] of traps) {
      await assertFails(call(runtime, samples.hostile, name, args), 'UNPROCESSABLE', `${name}(${args})`)
      assert.deepEqual(await call(runtime, samples.hostile, 'ok'), [1], `after ${name}`)
    }
  })

  check('traps are those of their own calls only', async (runtime) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        call(runtime, samples.hostile, index % 3 === 0 ? 'unreachable' : 'ok'),
      ),
    )
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      outcomes.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')),
    )
  })
}
