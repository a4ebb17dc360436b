import type { WasmRuntime } from '../../contracts/wasm.ts'

/** Registers one test that gets a runtime of its own, or does nothing where the runtime does not support that. */
export type WasmCheck<Runtime extends WasmRuntime = WasmRuntime> = (
  name: string,
  run: (runtime: Runtime) => Promise<void>,
) => void
