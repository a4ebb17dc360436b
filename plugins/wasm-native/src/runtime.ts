import {
  NodekeepError,
  type WasmFunctionExport,
  type WasmLimits,
  type WasmModule,
  type WasmNumber,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'
import { Aborts } from './pool/aborts.ts'
import { Pool, type PoolSettings } from './pool/pool.ts'
import { Run, type Work } from './pool/run.ts'
import type { FunctionList } from './protocol/messages.ts'

/** Calls exported functions in sandbox processes: each in a fresh instance, bounded in time and memory. */
export class NativeRuntime implements WasmRuntime {
  readonly supports = { functions: true, programs: false }
  readonly #pool: Pool
  readonly #aborts = new Aborts<Run>((run, reason) => this.#pool.abort(run, reason))

  constructor(settings: PoolSettings) {
    this.#pool = new Pool(settings)
  }

  exports(
    module: WasmModule,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmFunctionExport[]> {
    // What is listed is kept for all callers.
    return this.#run<FunctionList>(module, { kind: 'list' }, limits, { signal, caller: '' })
  }

  call(
    module: WasmModule,
    name: string,
    args: readonly WasmNumber[],
    limits: WasmLimits,
    signal: AbortSignal,
    caller = '',
  ): Promise<readonly WasmNumber[]> {
    if (args.some(isTooLong)) return Promise.reject(tooLong())
    const work: Work = { kind: 'call', name, args }
    return this.#run<readonly WasmNumber[]>(module, work, limits, { signal, caller })
  }

  /** Ends every sandbox. Runs that have no answer yet fail. */
  async stop(): Promise<void> {
    await this.#pool.stop()
  }

  #run<T>(
    module: WasmModule,
    work: Work,
    limits: WasmLimits,
    { signal, caller }: { readonly signal: AbortSignal; readonly caller: string },
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise<T>((resolve, reject) => {
      const settlers = { resolve: resolve as (value: unknown) => void, reject }
      const run = new Run(module, work, limits, caller, settlers)
      this.#aborts.add(signal, run)
      run.onSettled = () => this.#aborts.delete(signal, run)
      this.#pool.begin(run)
    })
  }
}

/** Whether a number has more than 64 bits, with a sign or without. The sandbox, which knows the types, checks all else. */
function isTooLong(value: WasmNumber): boolean {
  return (
    typeof value === 'bigint' && BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value
  )
}

function tooLong(): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', 'An argument is a whole number of more than 64 bits.')
}
