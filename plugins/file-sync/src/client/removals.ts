/** A path to remove on a side. */
interface Removal {
  readonly isFile: boolean
  /** Whether it was missing on the other side for long enough. */
  isDue: boolean
}

/** The paths to remove on a side. */
export class Removals {
  readonly #removals = new Map<string, Removal>()
  #files = 0

  get size(): number {
    return this.#removals.size
  }

  /** Number of files among the paths. */
  get files(): number {
    return this.#files
  }

  set(path: string, removal: Removal): void {
    this.delete(path)
    this.#removals.set(path, removal)
    if (removal.isFile) this.#files += 1
  }

  delete(path: string): void {
    if (this.#removals.get(path)?.isFile) this.#files -= 1
    this.#removals.delete(path)
  }

  keys(): IterableIterator<string> {
    return this.#removals.keys()
  }

  entries(): IterableIterator<[string, Removal]> {
    return this.#removals.entries()
  }
}
