import type { FunctionRuntime, NodekeepError, WasmLimits, WasmModule } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import { readArguments } from '../numbers/arguments.ts'
import { resultText } from '../numbers/result-text.ts'
import type { QueueBounds } from '../queue/fair-queue.ts'
import { RuntimeQueue } from '../queue/runtime-queue.ts'
import type { Runtimes } from '../runtimes.ts'
import { SharedWork } from '../shared-work.ts'
import { FunctionList } from './function-list.ts'

/** A function and its arguments, as they came in JSON. */
export interface FunctionCall {
  readonly name: string
  readonly args: readonly unknown[]
}

/** The user who calls. The signal aborts when the client leaves. */
export interface Caller {
  readonly uuid: string
  readonly signal: AbortSignal
}

/** Memory for the lists that are remembered, in bytes, about. */
const rememberedBytes = 32 * 1024 * 1024

/** Calls exported functions of modules, for each user in turn. The list of a module's functions is asked for once. */
export class FunctionCalls {
  readonly #runtimes: Runtimes
  readonly #limits: WasmLimits
  readonly #queue: RuntimeQueue
  /** By the hash of the module. */
  readonly #lists = new LRUCache<string, FunctionList>({
    maxSize: rememberedBytes,
    sizeCalculation: weightOf,
  })
  readonly #listing = new SharedWork<FunctionList>()

  constructor(runtimes: Runtimes, limits: WasmLimits, bounds: QueueBounds) {
    this.#runtimes = runtimes
    this.#limits = limits
    this.#queue = new RuntimeQueue('functionsAtOnce', bounds)
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
    const runtime = this.#runtimes.forFunctions()
    return this.#queue.run(runtime, uuid, signal, async () => {
      const module = await find()
      const list = await this.#listOf(module, runtime, signal)
      const found = list.named(name)
      const numbers = readArguments(found, args)
      signal.throwIfAborted()
      return resultText(found, await runtime.call(module, name, numbers, this.#limits, signal))
    })
  }

  /** Lists the functions of a module when it is its user's turn. */
  list({ uuid, signal }: Caller, find: () => Promise<WasmModule>): Promise<FunctionList> {
    const runtime = this.#runtimes.forFunctions()
    return this.#queue.run(runtime, uuid, signal, async () => this.#listOf(await find(), runtime, signal))
  }

  /** Refuses all calls that wait and all that still come. */
  close(reason: NodekeepError): void {
    this.#queue.close(reason)
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

function weightOf({ all }: FunctionList): number {
  return all.reduce(
    (sum, { name, parameters, results }) =>
      sum + 2 * name.length + 8 * (parameters.length + results.length) + 200,
    200,
  )
}
