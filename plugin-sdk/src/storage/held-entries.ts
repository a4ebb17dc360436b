import type { StorageListEntry } from '../contracts/storage.ts'

/**
 * The entries of a folder of a flat store on their way to JavaScript's order of strings. A store has them in the order of the
 * bytes of its keys in UTF-8, folders at `name/`. An entry is held until no smaller name can follow.
 */
export class HeldEntries {
  readonly #held = new Map<string, StorageListEntry>()
  /** The last name that was passed on. */
  #last: string

  /** @param after only entries with names that come after this one are passed on */
  constructor(after: string) {
    this.#last = after
  }

  get size(): number {
    return this.#held.size
  }

  /** Whether the entry with a name is held, or came already. */
  has(name: string): boolean {
    return name <= this.#last || this.#held.has(name)
  }

  /** Holds an entry. Of a file and a folder with the same name, the file counts. */
  add(entry: StorageListEntry): void {
    const { name, type } = entry
    if (name > this.#last && (type === 'file' || !this.#held.has(name))) this.#held.set(name, entry)
  }

  /** Passes on the entries with names before a bound, without one all. */
  *before(bound?: string): Generator<StorageListEntry, void, undefined> {
    const ready = [...this.#held.values()].filter(({ name }) => bound === undefined || name < bound)
    for (const entry of ready.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      this.#held.delete(entry.name)
      this.#last = entry.name
      yield entry
    }
  }
}

/**
 * Returns what may follow a key in a page of a store, in JavaScript's order of strings: only names that are not before
 * `bound`, and folders with the names `folders`, the shortest first.
 *
 * Both orders differ in two cases. Units of U+E000 and above come before surrogates in UTF-8, and after them in JavaScript: from the
 * first such unit on, the key tells nothing. And the folder `a` comes after `a-b`, because its key is `a/`: its name is
 * the part of the key before a character that comes before `/`.
 *
 * @param key the last one of a page, without the prefix; a folder ends with `/`
 */
export function namesAfter(key: string): { readonly folders: readonly string[]; readonly bound: string } {
  const bound = key.slice(0, key.search(/[\ue000-\uffff]|$/))
  const folders: string[] = []
  for (let end = 1; end < bound.length; end += 1)
    if ((bound[end] as string) < '/') folders.push(bound.slice(0, end))
  return { folders, bound }
}

/**
 * Returns the end of a key after which a store has all names that come after a name in JavaScript's order of strings. In UTF-8,
 * names with U+E000 and above come before those with surrogates, so it ends before the first surrogate.
 */
export function startAfter(name: string): string {
  return name.slice(0, name.search(/[\ud800-\udfff]|$/))
}
