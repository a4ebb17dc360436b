import { computed, type ReadonlySignal, signal } from '@preact/signals'

/** The entries of a list that are selected, and the one where the keyboard is. */
export class Selection<T> {
  /** The index of the entry where the keyboard is; 0 in an empty list. */
  readonly active = signal(0)
  /** Rises when the keyboard went to an entry by its key, which may be out of view. */
  readonly arrivals = signal(0)
  /** The selected entries, in the order of the list. */
  readonly entries: ReadonlySignal<readonly T[]>
  readonly #keys = signal<ReadonlySet<string>>(new Set())
  readonly #list: ReadonlySignal<readonly T[] | null>
  readonly #keyOf: (entry: T) => string
  /** The entry where a range begins. */
  #anchor = 0

  /** @param keyOf tells one entry of the list from the others, also after the list was loaded again */
  constructor(list: ReadonlySignal<readonly T[] | null>, keyOf: (entry: T) => string) {
    this.#list = list
    this.#keyOf = keyOf
    this.entries = computed(() => (list.value ?? []).filter((entry) => this.has(entry)))
  }

  has(entry: T): boolean {
    return this.#keys.value.has(this.#keyOf(entry))
  }

  /** Selects one entry and no other. */
  only(index: number): void {
    this.goTo(index)
    this.#anchor = this.active.value
    this.#select(this.active.value, this.active.value)
  }

  /** Selects the entries from where the last selection began. */
  upTo(index: number): void {
    this.goTo(index)
    const at = this.active.value
    this.#select(Math.min(this.#anchor, at), Math.max(this.#anchor, at))
  }

  /** Selects an entry too, or no longer. */
  toggle(index: number): void {
    this.goTo(index)
    this.#anchor = this.active.value
    const entry = this.#list.value?.[this.#anchor]
    if (entry === undefined) return
    const keys = new Set(this.#keys.value)
    if (!keys.delete(this.#keyOf(entry))) keys.add(this.#keyOf(entry))
    this.#keys.value = keys
  }

  all(): void {
    this.#select(0, Number.POSITIVE_INFINITY)
  }

  none(): void {
    this.#keys.value = new Set()
  }

  /** Moves the keyboard to an entry, the nearest one if there is none at the index. The selection stays. */
  goTo(index: number): void {
    const last = (this.#list.value?.length ?? 0) - 1
    this.active.value = Math.max(0, Math.min(index, last))
  }

  /** Selects the entry with a key, if there is one. */
  onlyKey(key: string): void {
    const index = this.#indexOf(key)
    if (index < 0) return
    this.only(index)
    this.arrivals.value += 1
  }

  /** Moves the keyboard to the entry with a key, if there is one. */
  goToKey(key: string): void {
    const index = this.#indexOf(key)
    if (index < 0) return
    this.goTo(index)
    this.arrivals.value += 1
  }

  /** Goes on after the list was loaded again: entries that are gone are no longer selected. */
  keepFocus(before: readonly T[]): void {
    const list = this.#list.value ?? []
    const present = new Set(list.map(this.#keyOf))
    this.#keys.value = new Set([...this.#keys.value].filter((key) => present.has(key)))
    const moved = (index: number) => {
      const entry = before[index]
      const found = entry === undefined ? -1 : this.#indexOf(this.#keyOf(entry))
      return found < 0 ? index : found
    }
    // Nobody has gone anywhere yet, so the keyboard stays at the top.
    if (this.#keys.value.size === 0 && this.active.value === 0) return
    this.#anchor = moved(this.#anchor)
    this.goTo(moved(this.active.value))
  }

  /** Clears the selection in another folder. */
  reset(): void {
    this.none()
    this.#anchor = 0
    this.active.value = 0
  }

  #indexOf(key: string): number {
    return this.#list.value?.findIndex((entry) => this.#keyOf(entry) === key) ?? -1
  }

  #select(first: number, last: number): void {
    this.#keys.value = new Set(this.#list.value?.slice(first, last + 1).map(this.#keyOf))
  }
}
