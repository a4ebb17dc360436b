interface Group {
  taken: number
  readonly waiting: (() => void)[]
}

/**
 * A number of slots for checks, shared by groups. A group has at most half of them, and free slots go to the groups in turn: a
 * group whose checks take long delays only itself.
 */
export class FairSlots {
  readonly #most: number
  readonly #groups = new Map<string, Group>()
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Waits for a slot. Returns the function that gives it back. */
  async take(name: string): Promise<() => void> {
    const group = this.#groups.get(name) ?? { taken: 0, waiting: [] }
    this.#groups.set(name, group)
    const { promise, resolve } = Promise.withResolvers<void>()
    group.waiting.push(resolve)
    this.#fill()
    await promise
    return () => {
      group.taken -= 1
      this.#taken -= 1
      if (group.taken === 0 && group.waiting.length === 0) this.#groups.delete(name)
      this.#fill()
    }
  }

  #fill(): void {
    for (const [name, group] of this.#groups) {
      if (this.#taken >= this.#most) return
      if (group.taken >= this.#most / 2) continue
      const next = group.waiting.shift()
      if (next === undefined) continue
      group.taken += 1
      this.#taken += 1
      // The loop comes to the group again after all others.
      this.#groups.delete(name)
      this.#groups.set(name, group)
      next()
    }
  }
}
