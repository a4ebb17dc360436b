import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Entry } from './listing.ts'

/** The entries that are selected, and the one where the keyboard is. */
export class Selection {
  /** The index of the entry where the keyboard is; 0 in an empty folder. */
  readonly active = signal(0)
  /** The selected entries, in the order of the list. */
  readonly entries: ReadonlySignal<readonly Entry[]>
  readonly #names = signal<ReadonlySet<string>>(new Set())
  readonly #list: ReadonlySignal<readonly Entry[] | null>
  /** The entry where a range begins. */
  #anchor = 0

  constructor(list: ReadonlySignal<readonly Entry[] | null>) {
    this.#list = list
    this.entries = computed(() => (list.value ?? []).filter(({ name }) => this.#names.value.has(name)))
  }

  has({ name }: Entry): boolean {
    return this.#names.value.has(name)
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
    const name = this.#list.value?.[this.#anchor]?.name
    if (name === undefined) return
    const names = new Set(this.#names.value)
    if (!names.delete(name)) names.add(name)
    this.#names.value = names
  }

  all(): void {
    this.#select(0, Number.POSITIVE_INFINITY)
  }

  none(): void {
    this.#names.value = new Set()
  }

  /** Moves the keyboard to an entry, the nearest one if there is none at the index. The selection stays. */
  goTo(index: number): void {
    const last = (this.#list.value?.length ?? 0) - 1
    this.active.value = Math.max(0, Math.min(index, last))
  }

  /** Selects the entry with a name, if there is one. */
  onlyName(name: string): void {
    const index = this.#indexOf(name)
    if (index >= 0) this.only(index)
  }

  /** Moves the keyboard to the entry with a name, if there is one. */
  goToName(name: string): void {
    const index = this.#indexOf(name)
    if (index >= 0) this.goTo(index)
  }

  /** Goes on after the list was loaded again: entries that are gone are no longer selected. */
  keepFocus(before: readonly Entry[]): void {
    const list = this.#list.value ?? []
    const present = new Set(list.map(({ name }) => name))
    this.#names.value = new Set([...this.#names.value].filter((name) => present.has(name)))
    const moved = (index: number) => {
      const found = list.findIndex(({ name }) => name === before[index]?.name)
      return found < 0 ? index : found
    }
    // Nobody has gone anywhere yet, so the keyboard stays at the top.
    if (this.#names.value.size === 0 && this.active.value === 0) return
    this.#anchor = moved(this.#anchor)
    this.goTo(moved(this.active.value))
  }

  /** Clears the selection in another folder. */
  reset(): void {
    this.none()
    this.#anchor = 0
    this.active.value = 0
  }

  #indexOf(name: string): number {
    return this.#list.value?.findIndex((entry) => entry.name === name) ?? -1
  }

  #select(first: number, last: number): void {
    this.#names.value = new Set(this.#list.value?.slice(first, last + 1).map(({ name }) => name))
  }
}
