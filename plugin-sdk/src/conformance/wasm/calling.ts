import type {
  FunctionRuntime,
  WasmFunctionExport,
  WasmLimits,
  WasmModule,
  WasmNumber,
} from '../../contracts/wasm.ts'
import { moduleOf, type Sample } from './sample-module.ts'

/** Bounds that no sample comes near unless it wants to, also on a busy machine. */
export const limits: WasmLimits = { timeoutMs: 30_000, memoryBytes: 32 * 2 ** 20, outputBytes: 65_536 }

/** Options of a run. */
export interface RunOptions extends Partial<WasmLimits> {
  readonly signal?: AbortSignal
}

export function limitsOf({ signal: _signal, ...changes }: RunOptions): WasmLimits {
  return { ...limits, ...changes }
}

export function call(
  runtime: FunctionRuntime,
  sample: Sample,
  name: string,
  args: readonly WasmNumber[] = [],
  options: RunOptions = {},
): Promise<readonly WasmNumber[]> {
  return callModule(runtime, moduleOf(sample), name, args, options)
}

export function callModule(
  runtime: FunctionRuntime,
  module: WasmModule,
  name: string,
  args: readonly WasmNumber[] = [],
  options: RunOptions = {},
): Promise<readonly WasmNumber[]> {
  const { signal = new AbortController().signal } = options
  return observed(runtime.call(module, name, args, limitsOf(options), signal))
}

export function list(
  runtime: FunctionRuntime,
  module: WasmModule,
  options: RunOptions = {},
): Promise<readonly WasmFunctionExport[]> {
  const { signal = new AbortController().signal } = options
  return observed(runtime.exports(module, limitsOf(options), signal))
}

/** A check that fails before it awaits a run must not end the process by an unhandled rejection. */
export function observed<Result>(running: Promise<Result>): Promise<Result> {
  running.catch(() => {})
  return running
}
