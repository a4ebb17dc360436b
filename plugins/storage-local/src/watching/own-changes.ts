/** Milliseconds for which a change is remembered. Its hint comes sooner. */
const rememberMs = 5000

/** The node's own last changes, to leave their hints out. It remembers nothing while nobody watches. */
export class OwnChanges {
  readonly #changes = new Map<string, { readonly revision: string | null; readonly at: number }>()
  #watches = 0

  /** Begins to remember. Call what it returns at the end of the watch. */
  remember(): () => void {
    this.#watches += 1
    return () => {
      this.#watches -= 1
      if (this.#watches === 0) this.#changes.clear()
    }
  }

  /** @param revision of the file that was written; `null` when nothing is left at the path */
  note(path: string, revision: string | null): void {
    if (this.#watches === 0) return
    const now = performance.now()
    for (const [old, { at }] of this.#changes) {
      if (now - at < rememberMs) break
      this.#changes.delete(old)
    }
    this.#changes.delete(path)
    this.#changes.set(path, { revision, at: now })
  }

  /**
   * Whether a path is as the node left it.
   *
   * @param revisionAt returns the revision at a path now; `null` if nothing is there
   */
  async explain(path: string, revisionAt: (path: string) => Promise<string | null>): Promise<boolean> {
    const change = this.#changes.get(path)
    return change !== undefined && (await revisionAt(path)) === change.revision
  }
}
