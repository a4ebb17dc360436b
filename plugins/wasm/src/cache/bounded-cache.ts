/** Keeps what was used last, up to a total weight. Nothing heavier than the total is kept at all. */
export class BoundedCache<K, V> {
  readonly #most: number
  readonly #kept = new Map<K, { readonly value: V; readonly weight: number }>()
  #weight = 0
  /** What was used last. */
  #latest: K | undefined

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    if (key !== this.#latest) {
      // A map keeps the order in which keys came: the least recently used one stands first.
      this.#kept.delete(key)
      this.#kept.set(key, found)
      this.#latest = key
    }
    return found.value
  }

  set(key: K, value: V, weight: number): void {
    this.delete(key)
    if (weight > this.#most) return
    this.#kept.set(key, { value, weight })
    this.#latest = key
    this.#weight += weight
    for (const oldest of this.#kept.keys()) {
      if (this.#weight <= this.#most) break
      this.delete(oldest)
    }
  }

  delete(key: K): void {
    const found = this.#kept.get(key)
    if (found === undefined) return
    this.#kept.delete(key)
    this.#weight -= found.weight
  }
}
