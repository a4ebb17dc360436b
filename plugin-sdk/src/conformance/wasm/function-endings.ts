import assert from 'node:assert/strict'
import type { FunctionRuntime } from '../../contracts/wasm.ts'
import { assertAborted } from './assertions.ts'
import { call, list } from './calling.ts'
import * as samples from './function-samples.ts'
import { moduleOf } from './sample-module.ts'
import type { WasmCheck } from './subject.ts'

export function functionEndingChecks(check: WasmCheck<FunctionRuntime>): void {
  check('a call that was aborted before it began does not run', async (runtime) => {
    const signal = AbortSignal.abort(new Error('left'))
    await assertAborted(call(runtime, samples.hostile, 'ok', [], { signal }), signal)
    await assertAborted(list(runtime, moduleOf(samples.hostile), { signal }), signal)
  })

  check('an aborted call ends long before its limit', async (runtime) => {
    const controller = new AbortController()
    const { signal } = controller
    const looping = call(runtime, samples.hostile, 'loop', [], { signal, timeoutMs: 600_000 })
    // Others are answered, so it has begun or waits for something that is not coming.
    if (runtime.functionsAtOnce !== 1) await call(runtime, samples.numbers, 'i32', [1])
    controller.abort(new Error('left'))
    await assertAborted(looping, signal)
    assert.deepEqual(await call(runtime, samples.hostile, 'ok'), [1])
  })

  check('the end of one call does not end another', async (runtime) => {
    const controller = new AbortController()
    const { signal } = controller
    const calls = Array.from({ length: 30 }, (_, index) =>
      call(runtime, samples.numbers, 'i32', [index], index % 2 === 0 ? { signal } : {}),
    )
    controller.abort()
    const outcomes = await Promise.allSettled(calls)
    for (const [index, { status }] of outcomes.entries()) {
      if (index % 2 === 1) assert.equal(status, 'fulfilled')
    }
  })
}
