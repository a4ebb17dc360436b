/** Blocks that sessions hold, though nothing in the index may name them. CIDs are strings, one character for each byte. */
export class HeldBlocks {
  readonly #sessions = new Map<number, Set<string>>()
  readonly #counts = new Map<string, number>()

  has(cid: string): boolean {
    return this.#counts.has(cid)
  }

  hold(session: number, cid: string): void {
    const held = this.#sessions.get(session) ?? new Set()
    this.#sessions.set(session, held)
    if (held.has(cid)) return
    held.add(cid)
    this.#counts.set(cid, (this.#counts.get(cid) ?? 0) + 1)
  }

  release(session: number, cid: string): void {
    if (this.#sessions.get(session)?.delete(cid)) this.#count(cid)
  }

  end(session: number): void {
    for (const cid of this.#sessions.get(session) ?? []) this.#count(cid)
    this.#sessions.delete(session)
  }

  #count(cid: string): void {
    const left = (this.#counts.get(cid) ?? 0) - 1
    if (left > 0) this.#counts.set(cid, left)
    else this.#counts.delete(cid)
  }
}
