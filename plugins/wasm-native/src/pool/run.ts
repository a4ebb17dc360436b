import type { WasmLimits, WasmModule, WasmNumber } from '@nodekeep/plugin-sdk'

/** What is to be done with a module. */
export type Work =
  | { readonly kind: 'list' }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly WasmNumber[] }

interface Settlers {
  resolve(value: unknown): void
  reject(reason: unknown): void
}

/** Something that was asked for. It may be tried in several processes; the first answer counts. */
export class Run {
  readonly module: WasmModule
  readonly work: Work
  readonly limits: WasmLimits
  /** Whose it is. */
  readonly caller: string
  /** Whether it was ended and put back, since it took long while too many others did. */
  putBack = false
  /** How often the process died in which it ran, of something that is not its doing as far as one can tell. */
  deaths = 0
  settled = false
  onSettled: () => void = () => {}
  readonly #settlers: Settlers

  constructor(module: WasmModule, work: Work, limits: WasmLimits, caller: string, settlers: Settlers) {
    this.module = module
    this.work = work
    this.limits = limits
    this.caller = caller
    this.#settlers = settlers
  }

  resolve(value: unknown): void {
    if (this.settled) return
    this.settled = true
    this.onSettled()
    this.#settlers.resolve(value)
  }

  reject(reason: unknown): void {
    if (this.settled) return
    this.settled = true
    this.onSettled()
    this.#settlers.reject(reason)
  }
}
