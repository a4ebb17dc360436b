import assert from 'node:assert/strict'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { assertFailsWith } from '../failures.ts'
import { assertFails } from './assertions.ts'
import { call, callModule, limits, list } from './calling.ts'
import * as samples from './function-samples.ts'
import { moduleOf, moduleOfBytes } from './sample-module.ts'
import type { WasmCheck } from './subject.ts'

export function refusalChecks(check: WasmCheck<FunctionRuntime>): void {
  check('what is no valid module is refused', async (runtime) => {
    const whole = await moduleOf(samples.numbers).bytes()
    const spoilt = Uint8Array.from(whole)
    // Of the last function's last instruction, which is in front of its end.
    spoilt[whole.length - 2] = 0xff
    const modules = { none: new Uint8Array(), text: Buffer.from('(module)'), cut: whole.slice(0, -9), spoilt }
    for (const [what, bytes] of Object.entries(modules)) {
      const module = moduleOfBytes(bytes)
      await assertFails(callModule(runtime, module, 'nothing'), 'VALIDATION_ERROR', `a call of ${what}`)
      await assertFails(list(runtime, module), 'VALIDATION_ERROR', `the list of ${what}`)
    }
  })

  check('a module that wants something of its host is refused', async (runtime) => {
    for (const [name, sample] of Object.entries(samples.imports)) {
      await assertFails(call(runtime, sample, 'run'), 'VALIDATION_ERROR', `the import ${name}`)
    }
  })

  check('a function that is not there is not found', async (runtime) => {
    for (const name of ['I32', 'toString', '', 'memory']) {
      await assertFails(call(runtime, samples.numbers, name), 'NOT_FOUND', JSON.stringify(name))
    }
  })

  check('a function with other types than numbers cannot be called', async (runtime) => {
    await assertFails(call(runtime, samples.names, 'reference', [0]), 'VALIDATION_ERROR', 'a reference')
  })

  check('a module whose bytes cannot be had fails as they do', async (runtime) => {
    const reason = new Error('gone')
    const missing = { hash: 'a'.repeat(64), size: 100, bytes: () => Promise.reject(reason) }
    const signal = new AbortController().signal
    await assertFailsWith(runtime.call(missing, 'run', [], limits, signal), reason, 'a call')
    await assertFailsWith(runtime.exports(missing, limits, signal), reason, 'a list of exports')
    assert.deepEqual(await call(runtime, samples.hostile, 'ok'), [1])
  })
}
