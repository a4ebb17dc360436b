import type { WasmNumber } from '@nodekeep/plugin-sdk'
import { Aborted, abortImport } from './abort-import.ts'
import { fitArguments } from './arguments.ts'
import { boundMemory } from './bound-memory.ts'
import { checkImports } from './check-imports.ts'
import type { LoadedModule } from './loaded-module.ts'
import { Refusal } from './refusal.ts'
import { Exception, type Exports, Instance, RuntimeError } from './web-assembly.ts'

type WasmFunction = (...args: readonly WasmNumber[]) => unknown

/**
 * Calls an exported function in an instance of its own, which nothing is left of afterwards.
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
    throw new Refusal('VALIDATION_ERROR', 'The function takes or gives other values than numbers.')
  }
  const fitting = fitArguments(type, args)
  boundMemory(bounds)
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

/** V8 gives no result as undefined, one as itself, and several as an array. */
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
  // Such as of values that the import `abort` cannot be given.
  if (!(error instanceof RangeError)) return trap(reason)
  if (/stack/.test(reason)) return trap('the stack is full (too deep a recursion)')
  return new Refusal('UNPROCESSABLE', `The memory limit was reached: ${reason}.`)
}

function trap(reason: string): Refusal {
  return new Refusal('UNPROCESSABLE', `The function trapped: ${reason}.`)
}
