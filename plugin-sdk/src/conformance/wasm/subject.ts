import type { WasmRuntime } from '../../contracts/wasm.ts'
import type { ConformanceCheck } from '../conformance-test.ts'

/** Registers one test, which gets a runtime of its own. */
export type WasmCheck<Runtime extends WasmRuntime = WasmRuntime> = ConformanceCheck<Runtime>
