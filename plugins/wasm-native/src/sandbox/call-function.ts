import type { WasmNumber, WasmValueType } from '@nodekeep/plugin-sdk'
import type { ModuleShape, NumericType } from '@nodekeep/plugin-sdk/wasm-binary'
import { Aborted, abortImport } from './abort-import.ts'
import type { LoadedModule } from './loaded-module.ts'
import { applyMemoryBounds } from './memory-bounds.ts'
import { Refusal } from './refusal.ts'
import { Exception, type Exports, Instance, RuntimeError } from './web-assembly.ts'

/** Modules of imports that WASI and WASIX have, in all their versions. */
const system = /^wasix?(_|$)/

type WasmFunction = (...args: readonly WasmNumber[]) => unknown

/**
 * Calls an exported function in a fresh instance, which is dropped afterwards.
 *
 * @throws Refusal
 */
export function callFunction(
  { module, shape, bounds }: LoadedModule,
  name: string,
  args: readonly WasmNumber[],
): readonly WasmNumber[] {
  checkImports(shape)
  const type = shape.functions.get(name)
  if (type === undefined) throw new Refusal('NOT_FOUND', 'The module exports no function of this name.')
  if (type === null) {
    throw new Refusal('VALIDATION_ERROR', 'The function takes or returns other values than numbers.')
  }
  const fitting = fitArguments(type, args)
  applyMemoryBounds(bounds)
  try {
    let exports: Exports = {}
    const instance = new Instance(
      module,
      shape.imports.length === 0 ? undefined : abortImport(() => exports.memory),
    )
    exports = instance.exports
    return resultsOf((exports[name] as WasmFunction)(...fitting), type.results.length)
  } catch (error) {
    throw refusalOf(error)
  }
}

/** @throws Refusal that names the first import that is unknown */
function checkImports({ imports }: ModuleShape): void {
  const unknown = imports.find(
    ({ module, name, kind }) => module !== 'env' || name !== 'abort' || kind !== 'function',
  )
  if (unknown === undefined) return
  const hint = imports.some(({ module }) => system.test(module))
    ? 'Programs for WASI are run by POST /api/wasm/run.'
    : 'There are no imports but AssemblyScript\'s function "env.abort".'
  throw new Refusal(
    'VALIDATION_ERROR',
    `The module imports the ${unknown.kind} "${shortened(unknown.module)}.${shortened(unknown.name)}". ${hint}`,
  )
}

/** Names of imports may be as long as a module. */
function shortened(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 100)}…`
}

/**
 * Makes arguments that V8 passes on exactly: bigints for `i64`, numbers for all other types. V8 itself would cut off what
 * does not fit and replace missing arguments by zeros.
 *
 * @throws Refusal
 */
function fitArguments({ parameters }: NumericType, args: readonly WasmNumber[]): WasmNumber[] {
  if (args.length !== parameters.length) {
    throw new Refusal(
      'VALIDATION_ERROR',
      `The function takes ${parameters.length} arguments (${parameters.join(', ') || 'none'}), and ${args.length} were given.`,
    )
  }
  return parameters.map((type, index) => fit(type, args[index] ?? 0, index))
}

function fit(type: WasmValueType, value: WasmNumber, index: number): WasmNumber {
  if (type === 'i64' && typeof value === 'bigint') return value
  if (type === 'i64' && Number.isSafeInteger(value)) return BigInt(value)
  if (type === 'i32' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) return value
  if ((type === 'f32' || type === 'f64') && typeof value === 'number') return value
  throw new Refusal('VALIDATION_ERROR', `Argument ${index + 1} does not fit the type ${type}.`)
}

/** V8 returns undefined for no result, the value for one, and an array for several. */
function resultsOf(given: unknown, count: number): readonly WasmNumber[] {
  const results = (count === 1 ? [given] : count === 0 ? [] : given) as readonly WasmNumber[]
  return results.some((result) => typeof result === 'bigint') ? results.map(safeInteger) : results
}

function safeInteger(value: WasmNumber): WasmNumber {
  const number = Number(value)
  return typeof value === 'bigint' && Number.isSafeInteger(number) ? number : value
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Aborted) return trap(`abort: ${error.message}`)
  if (error instanceof RuntimeError) return trap(error.message.replace(/^WebAssembly\.Instance\(\): /, ''))
  if (error instanceof Exception) return trap('it threw an exception that nothing caught')
  const reason = error instanceof Error ? error.message : 'unknown reason'
  // For example, `abort` was imported with a type whose values JavaScript cannot get.
  if (!(error instanceof RangeError)) return trap(reason)
  if (/stack/.test(reason)) return trap('the stack is full (too deep a recursion)')
  return new Refusal('UNPROCESSABLE', `The memory limit was reached: ${reason}.`)
}

function trap(reason: string): Refusal {
  return new Refusal('UNPROCESSABLE', `The function trapped: ${reason}.`)
}
