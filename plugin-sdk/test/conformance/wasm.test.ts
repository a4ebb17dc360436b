import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import wabt from 'wabt'
import { fileCommands } from '../../src/conformance/wasm/file-commands.ts'
import * as functionSamples from '../../src/conformance/wasm/function-samples.ts'
import * as programSamples from '../../src/conformance/wasm/program-samples.ts'
import type { Sample } from '../../src/conformance/wasm/sample-module.ts'
import { PaperWasmRuntime } from './fixtures/paper-wasm-runtime.ts'
import { runSuite } from './fixtures/suite-run.ts'
import { faults } from './fixtures/wasm-faults.ts'

wasmConformance(test, { create: async () => new PaperWasmRuntime() })

test('Each sample equals its compiled text', async (t) => {
  const { imports, ...others } = { ...functionSamples, ...programSamples, fileCommands }
  const samples: Record<string, Sample> = { ...others, ...imports }
  const { parseWat } = await wabt()
  // The types of the package lack the feature.
  const features = { multi_memory: true } as object
  for (const [name, { wat, base64 }] of Object.entries(samples)) {
    const { buffer } = parseWat(`${name}.wat`, wat, features).toBinary({})
    t.equal(base64, Buffer.from(buffer).toString('base64'), name)
  }
})

test('The suite does not test what a runtime does not support', async (t) => {
  const { failed } = await run(/./, () => ({ supports: { functions: false, programs: false } }))
  t.equal(failed, 1, 'Only the test for at least one ability fails.')
})

test('The suite finds each fault of a runtime', async (t) => {
  for (const [found, fault] of faults) {
    const { all, failed } = await run(found, fault)
    t.ok(failed > 0, `${failed} of ${all} tests that match ${found} found the fault.`)
  }
})

/** Runs the tests of the suite whose names match. Returns the number of these tests and of failures. */
async function run(
  name: RegExp,
  fault: (runtime: PaperWasmRuntime) => object,
): Promise<{ all: number; failed: number }> {
  const outcomes = await runSuite(
    (test) =>
      wasmConformance(test, {
        async create() {
          const runtime = new PaperWasmRuntime()
          return Object.assign(runtime, fault(runtime))
        },
      }),
    name,
  )
  return { all: outcomes.length, failed: outcomes.filter(({ outcome }) => outcome === 'failed').length }
}
