import { defineRegistry } from '../service.ts'
import type { UserFiles } from './files.ts'

/** A module, known by its content. */
export interface WasmModule {
  /** SHA-256 of the bytes, as 64 lower case hexadecimal digits. */
  readonly hash: string
  /** Bytes. */
  readonly size: number
  /** The bytes, for a runtime that doesn't have the module at hand. */
  bytes(): Promise<Uint8Array>
}

/** A number as it crosses the interface: an `i64` outside the safe integers is a bigint. */
export type WasmNumber = number | bigint

/** The types that cross the interface. A function with any other type cannot be called. */
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
  /** Bytes: of a function, all its linear memories and tables together; of a program, each of its memories. */
  readonly memoryBytes: number
  /** Bytes that a program may write to stdout and stderr together. */
  readonly outputBytes: number
}

/** A folder of the user's files that a program sees. */
export interface WasmPreopen {
  /** Absolute path in the program's world. */
  readonly guestPath: string
  /** Whose folder it is; nothing outside it is ever reached. */
  readonly files: UserFiles
  /** Absolute path of the folder within the user's files. */
  readonly path: string
  /** Whether what the program changes there is kept once it has ended. Otherwise it sees a folder that it cannot change. */
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
  /** What the program exited with, from 0 to 4294967295. */
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

/**
 * Runs WebAssembly outside the server's process, in a fresh instance each time: a run sees nothing of another one, and
 * neither the host's environment nor its network. Who may run how much, and when, is the `wasm` feature's business; a
 * runtime begins what it is asked for at once, of programs up to `programsAtOnce`. When the signal aborts, the run is stopped and rejects with its reason.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for what is no valid module (with the validator's reason) or has
 * unknown imports, NOT_FOUND for an unknown function, UNPROCESSABLE for a trap and for each limit, saying which,
 * SERVICE_UNAVAILABLE when the sandbox died of something else.
 */
export interface WasmRuntime {
  readonly supports: { readonly functions: boolean; readonly programs: boolean }
  /**
   * Programs that run at a time, at most; any number when it is not given. Further ones are kept waiting before they
   * come here, where users take turns.
   */
  readonly programsAtOnce?: number
  /** Lists the exported functions, in the module's order. Limits bound the time and memory of looking. */
  exports?(
    module: WasmModule,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmFunctionExport[]>
  /**
   * Calls an exported function with arguments that fit its type.
   *
   * @param caller whose call it is, as a key that says nothing else. A runtime with fewer places than there are calls lets
   * callers take turns.
   */
  call?(
    module: WasmModule,
    name: string,
    args: readonly WasmNumber[],
    limits: WasmLimits,
    signal: AbortSignal,
    caller?: string,
  ): Promise<readonly WasmNumber[]>
  /** Runs a WASI program. A program that exits with a code other than 0 is a result, not an error. */
  run?(
    module: WasmModule,
    program: WasmProgramRun,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<WasmProgramResult>
}

/** Wasm runtimes, by name. */
export const WasmRuntimes = defineRegistry<WasmRuntime>('wasm-runtimes', 1)
