import type { WasmRuntime } from '../../contracts/wasm.ts'

/** A runtime of exported functions. */
export type FunctionRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'call' | 'exports'>>

/** A runtime of programs. */
export type ProgramRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'run'>>

/** Registers one test that gets a runtime of its own, or does nothing where the runtime does not support that. */
export type WasmCheck<Runtime extends WasmRuntime = WasmRuntime> = (
  name: string,
  run: (runtime: Runtime) => Promise<void>,
) => void
