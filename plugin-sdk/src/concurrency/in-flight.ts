/** Items that come and go at a high rate, such as running calls. A `Set` would keep them (MEMORY.md, "Tables"). */
export class InFlight<T> implements Iterable<T> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    this.#items.push(item)
  }

  /** Does nothing if the item is not there. The order of the others may change. */
  delete(item: T): void {
    const place = this.#items.indexOf(item)
    if (place === -1) return
    const last = this.#items.pop() as T
    if (place < this.#items.length) this.#items[place] = last
  }

  [Symbol.iterator](): ArrayIterator<T> {
    return this.#items.values()
  }
}
