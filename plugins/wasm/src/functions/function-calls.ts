import type { WasmLimits, WasmModule } from '@nodekeep/plugin-sdk'
import { readArguments } from '../numbers/arguments.ts'
import { resultText } from '../numbers/result-text.ts'
import type { Runtimes } from '../runtimes.ts'
import type { FunctionList } from './function-list.ts'
import { FunctionLists } from './function-lists.ts'

/** What is to be called. */
export interface FunctionCall {
  readonly name: string
  /** As they came in JSON. */
  readonly args: readonly unknown[]
  /** Who calls. */
  readonly caller: string
}

/** Calls exported functions of modules. */
export class FunctionCalls {
  readonly #runtimes: Runtimes
  readonly #limits: WasmLimits
  readonly #lists: FunctionLists

  constructor(runtimes: Runtimes, limits: WasmLimits) {
    this.#runtimes = runtimes
    this.#limits = limits
    this.#lists = new FunctionLists(limits)
  }

  /** @returns the results as JSON */
  async call(module: WasmModule, { name, args, caller }: FunctionCall, signal: AbortSignal): Promise<string> {
    const runtime = this.#runtimes.forFunctions()
    const list = this.#lists.known(module) ?? (await this.#lists.learn(module, runtime, signal))
    const found = list.named(name)
    const numbers = readArguments(found, args)
    signal.throwIfAborted()
    return resultText(found, await runtime.call(module, name, numbers, this.#limits, signal, caller))
  }

  async list(module: WasmModule, signal: AbortSignal): Promise<FunctionList> {
    const runtime = this.#runtimes.forFunctions()
    return this.#lists.known(module) ?? this.#lists.learn(module, runtime, signal)
  }
}
