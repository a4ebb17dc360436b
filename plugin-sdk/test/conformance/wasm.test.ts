import { NodekeepError, type WasmRuntime } from '@nodekeep/plugin-sdk'
import { type WasmHarness, wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import wabt from 'wabt'
import { longest } from '../../src/conformance/wasm/assertions.ts'
import { fileCommands } from '../../src/conformance/wasm/file-commands.ts'
import * as functionSamples from '../../src/conformance/wasm/function-samples.ts'
import * as programSamples from '../../src/conformance/wasm/program-samples.ts'
import type { Sample } from '../../src/conformance/wasm/sample-module.ts'
import { PaperWasmRuntime } from './fixtures/paper-wasm-runtime.ts'
import { runSuite, type SuiteOutcome } from './fixtures/suite-run.ts'
import { functionMutants } from './fixtures/wasm-function-mutants.ts'
import type { WasmMutant } from './fixtures/wasm-mutants.ts'
import { programMutants } from './fixtures/wasm-program-mutants.ts'

wasmConformance(test, harnessOf())

test('Each sample equals its compiled text', async (t) => {
  const { imports, twins, ...others } = { ...functionSamples, ...programSamples, fileCommands }
  const samples: Record<string, Sample> = { ...others, ...imports, ...twins }
  const { parseWat } = await wabt()
  // The types of the package lack the feature.
  const features = { multi_memory: true } as object
  for (const [name, { wat, base64 }] of Object.entries(samples)) {
    const { buffer } = parseWat(`${name}.wat`, wat, features).toBinary({})
    t.equal(base64, Buffer.from(buffer).toString('base64'), name)
  }
})

test('Tests for abilities that a runtime does not have are skipped by name', async (t) => {
  const fails = async () => {
    throw new Error('The runtime was called.')
  }
  const outcomesOf = (runtime: WasmRuntime) =>
    runSuite((test) => wasmConformance(test, { create: async () => runtime }))
  const nothing = await outcomesOf({ supports: { functions: false, programs: false } })
  const functions = await outcomesOf({
    supports: { functions: true, programs: false },
    exports: fails,
    call: fails,
  })
  const programs = await outcomesOf({
    supports: { functions: false, programs: true },
    programsAtOnce: 1,
    run: fails,
  })
  const names = (outcomes: SuiteOutcome[], wanted: RegExp) =>
    outcomes.filter(({ outcome, reason }) => wanted.test(`${outcome}: ${reason}`)).map(({ name }) => name)
  const ofFunctions = names(programs, /^skipped: .* not support functions/)
  const ofPrograms = names(functions, /^skipped: .* not support programs/)
  t.strictSame(names(nothing, /^skipped/), [...ofFunctions, ...ofPrograms])
  t.strictSame(names(nothing, /^failed/), [
    'a runtime has the methods of what it supports, and supports something',
  ])
  t.strictSame(names(functions, /^failed/), ofFunctions)
  const single = ['a program that loops does not keep others waiting']
  t.strictSame(names(programs, /^skipped: .* one program at a time/), single)
  t.strictSame([...names(programs, /^failed/), ...single].sort(), ofPrograms.toSorted())
})

const mutants = [...functionMutants, ...programMutants]

test('The suite finds the fault of each mutant', async (t) => {
  // If a fault makes a run endless, the suite finds it only at the end of its time limit.
  longest.ms = 1000
  t.teardown(() => {
    longest.ms = 20_000
  })
  // Several at a time, because many mutants only wait.
  const left = mutants.values()
  const examine = async () => {
    for (const { fault, foundBy, mutate } of left) {
      const outcomes = await runSuite((test) => wasmConformance(test, harnessOf(mutate)), foundBy)
      const shown = outcomes.map(({ name, outcome }) => `${outcome}: ${name}`)
      t.ok(
        outcomes.some(({ outcome }) => outcome === 'failed'),
        `${fault} ${shown.join('; ')}`,
      )
    }
  }
  await Promise.all([examine(), examine(), examine(), examine()])
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  wasmConformance((name) => names.push(name), harnessOf())
  t.strictSame(
    names.filter((name) => !mutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
  t.equal(new Set(names).size, names.length, 'Each check has a name of its own.')
})

test('The suite uses no more slots than a runtime has', async (t) => {
  const outcomes = await runSuite(
    (test) =>
      wasmConformance(test, {
        async create() {
          let free = 2
          const within = async <Result>(run: () => Promise<Result>): Promise<Result> => {
            if (free === 0) throw new NodekeepError('INTERNAL_ERROR', 'All slots are taken.')
            free -= 1
            return run().finally(() => {
              free += 1
            })
          }
          const runtime = new PaperWasmRuntime()
          const { call, exports, run } = PaperWasmRuntime.prototype
          return Object.assign(runtime, {
            functionsAtOnce: 2,
            programsAtOnce: 2,
            call: (...given: Parameters<typeof call>) => within(() => call.apply(runtime, given)),
            exports: (...given: Parameters<typeof exports>) => within(() => exports.apply(runtime, given)),
            run: (...given: Parameters<typeof run>) => within(() => run.apply(runtime, given)),
          })
        },
      }),
    /at the same time|of many calls|does not keep others|an end of one call|of their own calls/,
  )
  for (const { name, outcome, reason } of outcomes) t.equal(outcome, 'passed', `${name} ${reason}`)
})

function harnessOf(mutate: WasmMutant['mutate'] = () => ({})): WasmHarness {
  return {
    async create() {
      const runtime = new PaperWasmRuntime()
      return Object.assign(runtime, mutate(runtime) as object)
    },
    destroy: (runtime) => (runtime as PaperWasmRuntime).stop(),
  }
}
