import { defineRegistry } from '../service.ts'

/** A number as it crosses the interface: an `i64` outside the safe integers is a bigint. */
export type WasmNumber = number | bigint

/** The types that cross the interface. A function with any other type can't be called. */
export type WasmValueType = 'i32' | 'i64' | 'f32' | 'f64'

/** An exported function of a module. */
export interface WasmFunctionExport {
  readonly name: string
  readonly parameters: readonly WasmValueType[]
  readonly results: readonly WasmValueType[]
}

/** Bounds of one run. */
export interface WasmLimits {
  readonly timeoutMs: number
  /** Bytes of all linear memories and tables together. */
  readonly memoryBytes: number
  /** Bytes that a program may write to stdout and stderr together. */
  readonly outputBytes: number
}

/** A folder of the host that a program sees. */
export interface WasmPreopen {
  /** Absolute path in the program's world. */
  readonly guestPath: string
  readonly hostPath: string
  readonly writable: boolean
}

/** What a WASI program is started with. */
export interface WasmProgramRun {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array
  readonly preopens: readonly WasmPreopen[]
}

/** What a WASI program left when it ended. */
export interface WasmProgramResult {
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

/**
 * Runs WebAssembly outside the server's thread, in a fresh instance each time.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for what is no valid module or has unknown imports, NOT_FOUND for
 * an unknown function, UNPROCESSABLE for a trap and for each limit, SERVICE_UNAVAILABLE when the sandbox died.
 */
export interface WasmRuntime {
  readonly supports: { readonly functions: boolean; readonly programs: boolean }
  /** Lists the exported functions. */
  exports?(module: Uint8Array, signal: AbortSignal): Promise<WasmFunctionExport[]>
  /** Calls an exported function. */
  call?(
    module: Uint8Array,
    name: string,
    args: readonly WasmNumber[],
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<WasmNumber[]>
  /** Runs a WASI program. A program that exits with a code other than 0 is a result, not an error. */
  run?(
    module: Uint8Array,
    program: WasmProgramRun,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<WasmProgramResult>
}

/** Wasm runtimes, by name. */
export const WasmRuntimes = defineRegistry<WasmRuntime>('wasm-runtimes', 1)
