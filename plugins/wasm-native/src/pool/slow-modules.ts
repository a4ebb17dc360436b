import type { Run } from './run.ts'

/** So many are remembered. */
const most = 1000

/**
 * Remembers whose runs of which modules took long the last time, so that nobody else's run is put behind one of theirs.
 * What a module is made to do by one caller says nothing of what it does for another.
 */
export class SlowModules {
  readonly #keys = new Set<string>()

  get any(): boolean {
    return this.#keys.size > 0
  }

  has(run: Run): boolean {
    return this.any && this.#keys.has(keyOf(run))
  }

  note(run: Run, slow: boolean): void {
    if (!slow) {
      if (this.any) this.#keys.delete(keyOf(run))
      return
    }
    this.#keys.add(keyOf(run))
    const [oldest] = this.#keys
    if (this.#keys.size > most && oldest !== undefined) this.#keys.delete(oldest)
  }
}

function keyOf({ module, caller }: Run): string {
  return `${module.hash}${caller}`
}
