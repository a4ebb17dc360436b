/** Garbage that is collected at once, in bytes. */
const mostGarbage = 32 * 2 ** 20
/** A request that took this long may have left much garbage, in milliseconds. */
const longMs = 1
/** Shorter requests after which the memory is checked as well. */
const checkedEvery = 16

/**
 * Returns the memory of past instances and modules to the system. V8 alone would collect it later than the memory limit
 * of the process allows, because that limit counts garbage too.
 */
export class MemoryReturn {
  /** V8's collector, which `--expose-gc` makes available. */
  readonly #collect = (globalThis as { readonly gc?: () => void }).gc ?? (() => {})
  #least = process.memoryUsage.rss()
  #requests = 0

  /** @param ms how long the last request took */
  consider(ms: number): void {
    this.#requests += 1
    if (ms < longMs && this.#requests < checkedEvery) return
    this.#requests = 0
    if (process.memoryUsage.rss() - this.#least >= mostGarbage) this.collect()
  }

  collect(): void {
    this.#collect()
    this.#least = process.memoryUsage.rss()
  }
}
