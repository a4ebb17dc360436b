import {
  NodekeepError,
  type WasmFunctionExport,
  type WasmLimits,
  type WasmModule,
  type WasmNumber,
  type WasmRuntime,
} from '@nodekeep/plugin-sdk'
import { Pool, type PoolSettings } from './pool/pool.ts'

/** Calls exported functions in sandbox processes: each in a fresh instance, bounded in time and memory. */
export class NativeRuntime implements WasmRuntime {
  readonly supports = { functions: true, programs: false }
  readonly functionsAtOnce: number
  readonly #pool: Pool

  constructor(settings: PoolSettings) {
    this.functionsAtOnce = settings.processes
    this.#pool = new Pool(settings)
  }

  async exports(
    module: WasmModule,
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmFunctionExport[]> {
    const list = await this.#pool.run(module, { kind: 'list' }, limits, signal)
    return list as readonly WasmFunctionExport[]
  }

  async call(
    module: WasmModule,
    name: string,
    args: readonly WasmNumber[],
    limits: WasmLimits,
    signal: AbortSignal,
  ): Promise<readonly WasmNumber[]> {
    if (args.some(isTooLong)) {
      throw new NodekeepError('VALIDATION_ERROR', 'An argument is an integer of more than 64 bits.')
    }
    const results = await this.#pool.run(module, { kind: 'call', name, args }, limits, signal)
    return results as readonly WasmNumber[]
  }

  /** Ends every sandbox. Calls that have no answer yet fail. */
  async stop(): Promise<void> {
    await this.#pool.stop()
  }
}

/** Whether a request could not carry the number. The sandbox, which knows the types, checks everything else. */
function isTooLong(value: WasmNumber): boolean {
  return (
    typeof value === 'bigint' && BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value
  )
}
