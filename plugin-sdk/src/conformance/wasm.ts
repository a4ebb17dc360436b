import type { FunctionRuntime, ProgramRuntime, WasmRuntime } from '../contracts/wasm.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { freshnessChecks } from './wasm/freshness.ts'
import { functionEndingChecks } from './wasm/function-endings.ts'
import { functionLimitChecks } from './wasm/function-limits.ts'
import { functionListChecks } from './wasm/function-lists.ts'
import { numberChecks } from './wasm/numbers.ts'
import { programEndingChecks } from './wasm/program-endings.ts'
import { programFolderChecks } from './wasm/program-folders.ts'
import { programLimitChecks } from './wasm/program-limits.ts'
import { programWorldChecks } from './wasm/program-worlds.ts'
import { refusalChecks } from './wasm/refusals.ts'
import { functionsWithinSlots, programsWithinSlots } from './wasm/slots.ts'
import type { WasmCheck } from './wasm/subject.ts'
import { supportChecks } from './wasm/support.ts'
import { trapChecks } from './wasm/traps.ts'

export type { ConformanceTest }

/** The runtime that the suite tests. The suite reads its abilities from `supports`. */
export interface WasmHarness {
  /** Makes a runtime. Called once for each test. No test ends a runtime, so all may get the same one. */
  create(): Promise<WasmRuntime>
  /** Ends the runtime, and everything that it started. */
  destroy?(runtime: WasmRuntime): Promise<void>
}

/**
 * The tests that every wasm runtime has to pass. The suite knows no test runner: it registers its tests with the
 * function that it is given.
 *
 * @example
 * import { test } from 'node:test'
 * wasmConformance(test, { create: async () => new AcmeRuntime(), destroy: (runtime) => runtime.stop() })
 */
export function wasmConformance(test: ConformanceTest, harness: WasmHarness): void {
  const check = checksOf(
    test,
    () => harness.create(),
    (runtime) => harness.destroy?.(runtime),
  )
  const checkFunctions: WasmCheck<FunctionRuntime> = (name, run) =>
    check(name, async (runtime, skip) => {
      if (!runtime.supports.functions) return skip('The runtime does not support functions.')
      await run(functionsWithinSlots(runtime as FunctionRuntime), skip)
    })
  const checkPrograms: WasmCheck<ProgramRuntime> = (name, run) =>
    check(name, async (runtime, skip) => {
      if (!runtime.supports.programs) return skip('The runtime does not support programs.')
      await run(programsWithinSlots(runtime as ProgramRuntime), skip)
    })
  supportChecks(check)
  functionListChecks(checkFunctions)
  numberChecks(checkFunctions)
  freshnessChecks(checkFunctions)
  refusalChecks(checkFunctions)
  trapChecks(checkFunctions)
  functionLimitChecks(checkFunctions)
  functionEndingChecks(checkFunctions)
  programWorldChecks(checkPrograms)
  programFolderChecks(checkPrograms)
  programLimitChecks(checkPrograms)
  programEndingChecks(checkPrograms)
}
