import assert from 'node:assert/strict'
import type { FunctionRuntime, WasmNumber } from '../../contracts/wasm.ts'
import { call } from './calling.ts'
import * as samples from './function-samples.ts'
import type { WasmCheck } from './subject.ts'

const safe = Number.MAX_SAFE_INTEGER
const least64 = -(2n ** 63n)
const most64 = 2n ** 63n - 1n

export function numberChecks(check: WasmCheck<FunctionRuntime>): void {
  check('whole numbers of 32 bits cross both ways, and wrap around', async (runtime) => {
    for (const value of [0, 1, -1, 42, -(2 ** 31), 2 ** 31 - 1]) await gives(runtime, 'i32', [value], [value])
    await gives(runtime, 'addI32', [2 ** 31 - 1, 1], [-(2 ** 31)])
  })

  check('whole numbers of 64 bits are numbers where those are exact, and bigints beyond', async (runtime) => {
    for (const value of [0, 1, -1, 2 ** 31, -(2 ** 32), safe, -safe]) {
      await gives(runtime, 'i64', [value], [value])
      await gives(runtime, 'i64', [BigInt(value)], [value])
    }
    for (const value of [BigInt(safe) + 1n, -BigInt(safe) - 1n, 2n ** 62n, least64, most64]) {
      await gives(runtime, 'i64', [value], [value])
    }
    await gives(runtime, 'addI64', [most64, 1], [least64])
    await gives(runtime, 'addI64', [least64, least64], [0])
  })

  check('floating numbers cross both ways, those that are none too', async (runtime) => {
    const same = [0, -0, 1.5, -1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (const value of same) {
      await gives(runtime, 'f32', [value], [value])
      await gives(runtime, 'f64', [value], [value])
    }
    for (const value of [Number.MIN_VALUE, Number.MAX_VALUE, Number.EPSILON, Math.PI, 2 ** 53]) {
      await gives(runtime, 'f64', [value], [value])
    }
  })

  check('numbers of single precision are rounded to the nearest', async (runtime) => {
    for (const value of [0.1, Math.PI, 16_777_217, 1e-45, 1e-46, 3.4028235677973366e38, 1e39]) {
      await gives(runtime, 'f32', [value], [Math.fround(value)])
    }
  })

  check('a function may give several values, or none', async (runtime) => {
    await gives(runtime, 'nothing', [], [])
    await gives(runtime, 'all', [-7, most64, 0.5, -0], [-0, 0.5, most64, -7])
    await gives(runtime, 'all', [1, 2, Number.NaN, 4], [4, Number.NaN, 2, 1])
  })
}

/** Compares as `Object.is` does: −0 is another number than 0, and NaN is one number. */
async function gives(
  runtime: FunctionRuntime,
  name: string,
  args: readonly WasmNumber[],
  expected: readonly WasmNumber[],
): Promise<void> {
  assert.deepEqual(await call(runtime, samples.numbers, name, args), expected, `${name}(${args.join(', ')})`)
}
