import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import wabt from 'wabt'
import { fileCommands } from '../../src/conformance/wasm/file-commands.ts'
import * as functionSamples from '../../src/conformance/wasm/function-samples.ts'
import * as programSamples from '../../src/conformance/wasm/program-samples.ts'
import type { Sample } from '../../src/conformance/wasm/sample-module.ts'
import { PaperWasmRuntime } from './fixtures/paper-wasm-runtime.ts'
import { faults } from './fixtures/wasm-faults.ts'

wasmConformance(test, { create: async () => new PaperWasmRuntime() })

test('each sample is what its text says', async (t) => {
  const { imports, ...others } = { ...functionSamples, ...programSamples, fileCommands }
  const samples: Record<string, Sample> = { ...others, ...imports }
  const { parseWat } = await wabt()
  // The package's types are older than itself.
  const features = { multi_memory: true } as object
  for (const [name, { wat, base64 }] of Object.entries(samples)) {
    const { buffer } = parseWat(`${name}.wat`, wat, features).toBinary({})
    t.equal(base64, Buffer.from(buffer).toString('base64'), name)
  }
})

test('what a runtime does not support is not asked of it', async (t) => {
  const { failed } = await run(/./, () => ({ supports: { functions: false, programs: false } }))
  t.equal(failed, 1, 'but it has to support something')
})

test('each fault of a runtime is found', async (t) => {
  for (const [found, fault] of faults) {
    const { all, failed } = await run(found, fault)
    t.ok(failed > 0, `${found} finds its fault, by ${failed} of ${all} tests`)
  }
})

/** Runs the tests of the suite that have such a name, and returns how many there are and how many failed. */
async function run(
  name: RegExp,
  fault: (runtime: PaperWasmRuntime) => object,
): Promise<{ all: number; failed: number }> {
  const runs: (() => Promise<void>)[] = []
  wasmConformance((found, run) => name.test(found) && runs.push(run), {
    async create() {
      const runtime = new PaperWasmRuntime()
      return Object.assign(runtime, fault(runtime))
    },
  })
  const outcomes = await Promise.allSettled(runs.map((run) => run()))
  return { all: runs.length, failed: outcomes.filter(({ status }) => status === 'rejected').length }
}
