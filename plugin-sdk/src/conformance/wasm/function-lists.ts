import assert from 'node:assert/strict'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { call, list } from './calling.ts'
import * as samples from './function-samples.ts'
import { moduleOf } from './sample-module.ts'
import type { WasmCheck } from './subject.ts'

export function functionListChecks(check: WasmCheck<FunctionRuntime>): void {
  check('functions are listed with their types, in the order of the module', async (runtime) => {
    assert.deepEqual(await list(runtime, moduleOf(samples.numbers)), [
      { name: 'i32', parameters: ['i32'], results: ['i32'] },
      { name: 'i64', parameters: ['i64'], results: ['i64'] },
      { name: 'f32', parameters: ['f32'], results: ['f32'] },
      { name: 'f64', parameters: ['f64'], results: ['f64'] },
      { name: 'addI32', parameters: ['i32', 'i32'], results: ['i32'] },
      { name: 'addI64', parameters: ['i64', 'i64'], results: ['i64'] },
      { name: 'nothing', parameters: [], results: [] },
      { name: 'all', parameters: ['i32', 'i64', 'f32', 'f64'], results: ['f64', 'f32', 'i64', 'i32'] },
    ])
  })

  check('functions have any name, and those without numbers only are left out', async (runtime) => {
    const found = await list(runtime, moduleOf(samples.names))
    const expected = ['last', '', '__proto__', 'constructor', 'größe \u2696\n"']
    assert.deepEqual(
      found.map(({ name }) => name),
      expected,
    )
    for (const [index, name] of expected.entries()) {
      assert.deepEqual(await call(runtime, samples.names, name), [index + 1], JSON.stringify(name))
    }
  })

  check('what a module does when it begins does not matter to its list', async (runtime) => {
    const found = await list(runtime, moduleOf(samples.loopingStart))
    assert.deepEqual(found, [{ name: 'never', parameters: [], results: [] }])
  })
}
