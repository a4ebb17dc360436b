import { isUint8Array } from 'node:util/types'
import { type ErrorCode, isNodekeepError, NodekeepError, type NodekeepErrorOptions } from '../errors.ts'
import { defineRegistry, lackingMethod } from '../service.ts'
import type { UserFiles } from './files.ts'

/** A module, known by its content. */
export interface WasmModule {
  /** SHA-256 of the bytes, as 64 lower case hexadecimal digits. */
  readonly hash: string
  /** Bytes. */
  readonly size: number
  /** The bytes, for a runtime that does not have the module. */
  bytes(): Promise<Uint8Array>
}

/** A number that crosses the interface. An `i64` outside the safe integers is a bigint. */
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
  /** Bytes: for a function, of all its linear memories and tables together; for a program, of each memory. */
  readonly memoryBytes: number
  /** Bytes that a program may write to stdout and stderr together. */
  readonly outputBytes: number
}

/** A folder of the user's files that a program sees. */
export interface WasmPreopen {
  /** Absolute path under which the program sees the folder. */
  readonly guestPath: string
  /** The files of the folder's owner. The program reaches nothing outside the folder. */
  readonly files: UserFiles
  /** Absolute path of the folder within the user's files. */
  readonly path: string
  /**
   * Whether the program can change the folder. Its changes are stored after it has ended, with any exit code. The changes
   * of a program that traps or is stopped are not stored.
   */
  readonly writable: boolean
}

/** The input of a WASI program. */
export interface WasmProgramRun {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array
  readonly preopens: readonly WasmPreopen[]
}

/** The output of a WASI program. */
export interface WasmProgramOutput {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

/** The result of a WASI program that has ended. */
export interface WasmProgramResult extends WasmProgramOutput {
  /** The program's exit code, from 0 to 4294967295. */
  readonly exitCode: number
}

/**
 * A failure of a program that had begun, with what the program wrote until then. Programs tell the reason of a trap on stderr: the
 * `wasm` feature passes the output on to the caller.
 */
export class WasmProgramError extends NodekeepError implements WasmProgramOutput {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array

  constructor(
    code: ErrorCode,
    message: string,
    { stdout, stderr, ...options }: NodekeepErrorOptions & WasmProgramOutput,
  ) {
    super(code, message, options)
    this.stdout = stdout
    this.stderr = stderr
  }
}

/** Returns whether a value is a WasmProgramError of this copy of the SDK or another one. */
export function isWasmProgramError(value: unknown): value is WasmProgramError {
  if (!isNodekeepError(value)) return false
  const { stdout, stderr } = value as Partial<WasmProgramError>
  return isUint8Array(stdout) && isUint8Array(stderr)
}

/**
 * Runs WebAssembly outside the server's process, in a fresh instance each time. A run sees no other run, and neither the
 * host's environment nor its network. The `wasm` feature schedules the runs and applies the limits of users. It starts
 * at most `functionsAtOnce` calls and `programsAtOnce` programs of a runtime at a time. When the signal aborts, the
 * runtime stops the run and rejects with the signal's reason.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for an invalid module (with the validator's reason), for unknown imports,
 * or for a call of a function with other types than numbers; NOT_FOUND for an unknown function; UNPROCESSABLE for a trap
 * and for each limit (the message names it); SERVICE_UNAVAILABLE if the sandbox died for another reason. If
 * `WasmModule.bytes` rejects, they reject with its error.
 */
export interface WasmRuntime {
  readonly supports: { readonly functions: boolean; readonly programs: boolean }
  /**
   * The maximum number of concurrent calls of functions, including lists of functions. Default: unlimited. Further calls
   * wait in the `wasm` feature, where users take turns.
   */
  readonly functionsAtOnce?: number
  /** The maximum number of concurrent programs. Default: unlimited. */
  readonly programsAtOnce?: number
  /** Lists the exported functions, in the module's order. The limits bound the time and memory of the call. */
  exports?(
    module: WasmModule,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmFunctionExport[]>
  /** Calls an exported function with arguments that fit its type. */
  call?(
    module: WasmModule,
    name: string,
    args: readonly WasmNumber[],
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmNumber[]>
  /**
   * Runs a WASI program. A program that exits with a code other than 0 is a result, not an error. A program that traps or reaches a
   * limit is a {@link WasmProgramError}, with what it wrote until then, up to the limit of its output.
   */
  run?(
    module: WasmModule,
    program: WasmProgramRun,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<WasmProgramResult>
}

/** A runtime that calls exported functions. */
export type FunctionRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'exports' | 'call'>>

/** A runtime that runs WASI programs. */
export type ProgramRuntime = WasmRuntime & Required<Pick<WasmRuntime, 'run'>>

/** Wasm runtimes, by name. */
export const WasmRuntimes = defineRegistry<WasmRuntime>('wasm-runtimes', 1, (runtime) => {
  if (typeof runtime.supports !== 'object' || runtime.supports === null) return 'has no "supports"'
  const functions = runtime.supports.functions ? (['exports', 'call'] as const) : []
  const programs = runtime.supports.programs ? (['run'] as const) : []
  return lackingMethod(runtime, ...functions, ...programs)
})
