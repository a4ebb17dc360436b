import assert from 'node:assert/strict'
import type { WasmCheck } from './subject.ts'

export function supportChecks(check: WasmCheck): void {
  check('a runtime has the methods of what it supports, and supports something', async (runtime) => {
    const { supports } = runtime
    assert.equal(supports.functions, runtime.call !== undefined, 'call')
    assert.equal(supports.functions, runtime.exports !== undefined, 'exports')
    assert.equal(supports.programs, runtime.run !== undefined, 'run')
    assert.ok(supports.functions || supports.programs)
    const { functionsAtOnce = 1, programsAtOnce = 1 } = runtime
    for (const [name, slots] of Object.entries({ functionsAtOnce, programsAtOnce })) {
      assert.ok(Number.isSafeInteger(slots) && slots > 0, name)
    }
  })
}
