/**
 * Items that come and go at a high rate, such as running calls.
 *
 * A `Set` or a `Map` is wrong for them. V8 replaces its table after a few additions, and the former table refers to the next
 * one. As soon as one table is old, the garbage collector of young objects keeps all tables after it, with all items that
 * they had, until it collects the whole heap.
 */
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
