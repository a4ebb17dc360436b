/** So many modules are remembered. */
const most = 1000

/** Remembers the modules whose last run took long, so that nobody else's run is put behind one of theirs. */
export class SlowModules {
  readonly #hashes = new Set<string>()

  get any(): boolean {
    return this.#hashes.size > 0
  }

  has(hash: string): boolean {
    return this.any && this.#hashes.has(hash)
  }

  note(hash: string, slow: boolean): void {
    if (!slow) {
      if (this.any) this.#hashes.delete(hash)
      return
    }
    this.#hashes.add(hash)
    const [oldest] = this.#hashes
    if (this.#hashes.size > most && oldest !== undefined) this.#hashes.delete(oldest)
  }
}
