interface Group {
  taken: number
  readonly waiting: (() => void)[]
}

/** Bounds of work that runs at a time. */
export interface FairSlotsOptions {
  /** In all. Default: no bound. */
  readonly most?: number
  /** Of one key, such as a user. */
  readonly mostPerKey: number
}

/**
 * Runs a bounded amount of work at a time. The work of a key begins in the order of its calls, and free slots go to the keys in
 * turn, so a key with much or slow work delays only itself. Libraries such as p-limit and p-queue know no keys.
 *
 * @example
 * const slots = new FairSlots({ most: 16, mostPerKey: 8 })
 * await slots.run(user.uuid, () => copy(path))
 */
export class FairSlots {
  readonly #most: number
  readonly #mostPerKey: number
  readonly #groups = new Map<string, Group>()
  #taken = 0

  constructor({ most = Number.POSITIVE_INFINITY, mostPerKey }: FairSlotsOptions) {
    this.#most = most
    this.#mostPerKey = mostPerKey
  }

  /** Whether as much work of a key runs as may, so that more of it waits. */
  isFull(key: string): boolean {
    return (this.#groups.get(key)?.taken ?? 0) >= this.#mostPerKey
  }

  /** Runs the work when it has a slot. Returns its result, or throws its error. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const group = this.#groups.get(key) ?? { taken: 0, waiting: [] }
    this.#groups.set(key, group)
    const { promise, resolve } = Promise.withResolvers<void>()
    group.waiting.push(resolve)
    this.#fill()
    await promise
    try {
      return await work()
    } finally {
      group.taken -= 1
      this.#taken -= 1
      if (group.taken === 0 && group.waiting.length === 0) this.#groups.delete(key)
      this.#fill()
    }
  }

  /** Gives one slot away, if there is one: no more than one is free after a call or an end. */
  #fill(): void {
    for (const [key, group] of this.#groups) {
      if (this.#taken >= this.#most) return
      if (group.taken >= this.#mostPerKey) continue
      const next = group.waiting.shift()
      if (next === undefined) continue
      group.taken += 1
      this.#taken += 1
      if (this.#groups.size > 1) {
        // The next slot goes to the key after all others.
        this.#groups.delete(key)
        this.#groups.set(key, group)
      }
      next()
      return
    }
  }
}
