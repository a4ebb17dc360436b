import type { WasmLimits, WasmModule } from '@nodekeep/plugin-sdk'
import { BoundedCache } from '../cache/bounded-cache.ts'
import { SharedWork } from '../cache/shared-work.ts'
import type { FunctionRuntime } from '../runtimes.ts'
import { FunctionList } from './function-list.ts'

/** What the lists that are kept may take altogether, in bytes, about. */
const mostBytes = 32 * 1024 * 1024

/** The functions of modules, by the hash of the module: each list is asked for once. */
export class FunctionLists {
  readonly #limits: WasmLimits
  readonly #known = new BoundedCache<string, FunctionList>(mostBytes)
  readonly #looking = new SharedWork<FunctionList>()

  constructor(limits: WasmLimits) {
    this.#limits = limits
  }

  /** The list, where it is known. */
  known({ hash }: WasmModule): FunctionList | undefined {
    return this.#known.get(hash)
  }

  /** Asks a runtime for the list. */
  async learn(module: WasmModule, runtime: FunctionRuntime, signal: AbortSignal): Promise<FunctionList> {
    return this.#looking.get(module.hash, signal, async (until) => {
      const list = new FunctionList(await runtime.exports(module, this.#limits, until))
      this.#known.set(module.hash, list, weightOf(list))
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
