import type { WasmModule } from '@nodekeep/plugin-sdk'

/** What a sandbox keeps at most. */
export interface CacheBounds {
  readonly modules: number
  readonly bytes: number
}

interface Kept {
  readonly number: number
  readonly size: number
}

/** Which modules a sandbox keeps compiled. Those that were not used for the longest time make room for others. */
export class ModuleShelf {
  readonly #bounds: CacheBounds
  readonly #kept = new Map<string, Kept>()
  #bytes = 0
  #lastNumber = 0

  constructor(bounds: CacheBounds) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#kept.size
  }

  /** Of the modules together. */
  get bytes(): number {
    return this.#bytes
  }

  has(hash: string): boolean {
    return this.#kept.has(hash)
  }

  /** The number of a module that is there and is to be used now. */
  use(hash: string): number {
    const kept = this.#kept.get(hash)
    if (kept === undefined) throw new Error('The module is not there.')
    if (this.#kept.size > 1) {
      this.#kept.delete(hash)
      this.#kept.set(hash, kept)
    }
    return kept.number
  }

  /** @returns the number of the new module, and of those that have to go */
  add({ hash, size }: WasmModule): { readonly number: number; readonly removed: readonly number[] } {
    const removed: number[] = []
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size < this.#bounds.modules && this.#bytes + size <= this.#bounds.bytes) break
      this.#kept.delete(oldest)
      this.#bytes -= kept.size
      removed.push(kept.number)
    }
    this.#lastNumber += 1
    this.#kept.set(hash, { number: this.#lastNumber, size })
    this.#bytes += size
    return { number: this.#lastNumber, removed }
  }
}
