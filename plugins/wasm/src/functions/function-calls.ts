import {
  type FunctionRuntime,
  NodekeepError,
  type WasmFunctionExport,
  type WasmLimits,
  type WasmModule,
  type WasmValueType,
} from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import type { Runtimes } from '../runtimes.ts'
import { SharedWork } from '../shared-work.ts'
import { readArguments, resultText } from './json-numbers.ts'

/** A function and its arguments, as they came in JSON. */
interface FunctionCall {
  readonly name: string
  readonly args: readonly unknown[]
}

/** The user who calls. The signal aborts when the client leaves. */
interface Caller {
  readonly uuid: string
  readonly signal: AbortSignal
}

/** Memory for the lists that are remembered, in bytes, about. */
const rememberedBytes = 32 * 1024 * 1024

/** Calls exported functions of modules, for each user in turn. The list of a module's functions is asked for once. */
export class FunctionCalls {
  readonly #runtimes: Runtimes
  readonly #limits: WasmLimits
  /** By the hash of the module. */
  readonly #lists = new LRUCache<string, FunctionList>({
    maxSize: rememberedBytes,
    sizeCalculation: weightOf,
  })
  readonly #listing = new SharedWork<FunctionList>()

  constructor(runtimes: Runtimes, limits: WasmLimits) {
    this.#runtimes = runtimes
    this.#limits = limits
  }

  /**
   * Calls a function when it is its user's turn.
   *
   * @param find finds the module, when the turn has come
   * @returns the results as JSON
   */
  call(
    { uuid, signal }: Caller,
    find: () => WasmModule | Promise<WasmModule>,
    { name, args }: FunctionCall,
  ): Promise<string> {
    return this.#runtimes.forFunctions(uuid, signal, async (runtime) => {
      const module = await find()
      const list = await this.#listOf(module, runtime, signal)
      const found = list.named(name)
      const numbers = readArguments(found, args)
      signal.throwIfAborted()
      return resultText(found, await runtime.call(module, name, numbers, this.#limits, signal))
    })
  }

  /** Lists the functions of a module that can be called, in the module's order, when it is its user's turn. */
  list({ uuid, signal }: Caller, find: () => Promise<WasmModule>): Promise<readonly WasmFunctionExport[]> {
    return this.#runtimes.forFunctions(uuid, signal, async (runtime) => {
      const { all } = await this.#listOf(await find(), runtime, signal)
      return all
    })
  }

  #listOf(
    module: WasmModule,
    runtime: FunctionRuntime,
    signal: AbortSignal,
  ): FunctionList | Promise<FunctionList> {
    const known = this.#lists.get(module.hash)
    if (known !== undefined) return known
    return this.#listing.get(module.hash, signal, async (until) => {
      const list = new FunctionList(await runtime.exports(module, this.#limits, until))
      this.#lists.set(module.hash, list)
      return list
    })
  }
}

const numeric: readonly string[] = ['i32', 'i64', 'f32', 'f64'] satisfies WasmValueType[]

/** Characters of function names in a message. */
const roomForNames = 1000

/** The exported functions that can be called: those whose parameters and results are all numbers. */
class FunctionList {
  /** In the module's order. */
  readonly all: readonly WasmFunctionExport[]
  readonly #byName: ReadonlyMap<string, WasmFunctionExport>

  constructor(all: readonly WasmFunctionExport[]) {
    this.all = all.filter(({ parameters, results }) =>
      [...parameters, ...results].every((type) => numeric.includes(type)),
    )
    this.#byName = new Map(this.all.map((found) => [found.name, found]))
  }

  /** @throws NodekeepError NOT_FOUND that lists the existing names */
  named(name: string): WasmFunctionExport {
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    throw new NodekeepError(
      'NOT_FOUND',
      `The module has no function "${name.slice(0, 100)}" that can be called. ${this.#described()}`,
    )
  }

  #described(): string {
    if (this.all.length === 0) return 'It exports no function that could be called.'
    const names: string[] = []
    let room = roomForNames
    for (const { name } of this.all) {
      room -= name.length + 2
      if (room < 0) break
      names.push(name)
    }
    const left = this.all.length - names.length
    if (names.length === 0) return `It exports ${left}, with names too long to tell.`
    return `It exports: ${names.join(', ')}${left === 0 ? '' : `, and ${left} more`}.`
  }
}

function weightOf({ all }: FunctionList): number {
  return all.reduce(
    (sum, { name, parameters, results }) =>
      sum + 2 * name.length + 8 * (parameters.length + results.length) + 200,
    200,
  )
}
