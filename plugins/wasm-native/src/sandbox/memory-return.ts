/** Garbage of so many bytes is cleared away. */
const bearable = 32 * 2 ** 20
/** A step of so many milliseconds may have left much behind. */
const longMs = 1
/** And so many steps that are shorter. */
const often = 16

/**
 * Gives the memory of past instances and modules back. V8 would wait for more of them than the limit of the process
 * allows, which holds for what is no longer used, too.
 */
export class MemoryReturn {
  /** V8's collector, which `--expose-gc` shows. */
  readonly #collect = (globalThis as { readonly gc?: () => void }).gc ?? (() => {})
  #least = process.memoryUsage.rss()
  #steps = 0

  /** @param ms how long the step took that has ended */
  consider(ms: number): void {
    this.#steps += 1
    if (ms < longMs && this.#steps < often) return
    this.#steps = 0
    if (process.memoryUsage.rss() - this.#least >= bearable) this.collect()
  }

  collect(): void {
    this.#collect()
    this.#least = process.memoryUsage.rss()
  }
}
