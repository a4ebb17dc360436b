import type { ProgramRuntime, WasmModule, WasmProgramResult, WasmProgramRun } from '../../contracts/wasm.ts'
import { limitsOf, observed, type RunOptions } from './calling.ts'
import { moduleOf, type Sample } from './sample-module.ts'

/** The input of a program; empty where it is left out. */
export type ProgramStart = Partial<WasmProgramRun>

export function run(
  runtime: ProgramRuntime,
  sample: Sample,
  start: ProgramStart = {},
  options: RunOptions = {},
): Promise<WasmProgramResult> {
  return runModule(runtime, moduleOf(sample), start, options)
}

export function runModule(
  runtime: ProgramRuntime,
  module: WasmModule,
  { args = [], env = {}, stdin = new Uint8Array(), preopens = [] }: ProgramStart = {},
  options: RunOptions = {},
): Promise<WasmProgramResult> {
  const signal = options.signal ?? new AbortController().signal
  return observed(runtime.run(module, { args, env, stdin, preopens }, limitsOf(options), signal))
}

/** The output of a program, as text. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}
