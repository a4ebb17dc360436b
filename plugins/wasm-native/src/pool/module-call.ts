import type { WasmLimits, WasmModule, WasmNumber } from '@nodekeep/plugin-sdk'

/** The purpose of a call: the list of a module's functions, or the results of one function. */
export type Wanted =
  | { readonly kind: 'list' }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly WasmNumber[] }

/** A call from its arrival to its answer. It may be tried in two processes. */
export class ModuleCall {
  readonly module: WasmModule
  readonly wanted: Wanted
  readonly limits: WasmLimits
  readonly answer = Promise.withResolvers<unknown>()
  /** Bytes of the module, once they were needed. */
  bytes: Uint8Array | null = null
  /** Processes that died during the call, for another reason than a limit. */
  deaths = 0
  /** Whether the call was answered, failed or was aborted. */
  over = false

  constructor(module: WasmModule, wanted: Wanted, limits: WasmLimits) {
    this.module = module
    this.wanted = wanted
    this.limits = limits
  }

  resolve(value: unknown): void {
    this.over = true
    this.answer.resolve(value)
  }

  reject(reason: unknown): void {
    this.over = true
    this.answer.reject(reason)
  }
}
