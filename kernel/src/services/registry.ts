import { type Disposer, NodekeepError, type RegistryReader } from '@nodekeep/plugin-sdk'

interface Holding {
  readonly entry: unknown
  readonly owner: string
}

/** The entries of one registry, each with the plugin that added it. */
export class RegistryEntries {
  readonly #id: string
  readonly #entries = new Map<string, Holding>()
  readonly #listeners = new Set<() => void>()

  constructor(id: string) {
    this.#id = id
  }

  /** @throws NodekeepError CONFLICT when the name is taken */
  refuseTaken(name: string, owner: string): void {
    const holding = this.#entries.get(name)
    if (holding !== undefined) {
      throw new NodekeepError(
        'CONFLICT',
        `"${owner}" adds "${name}" to the registry "${this.#id}", where "${holding.owner}" has that name already. ` +
          'Disable one of the two, or load it under another id.',
      )
    }
  }

  add(name: string, entry: unknown, owner: string): void {
    this.refuseTaken(name, owner)
    this.#entries.set(name, { entry, owner })
  }

  remove(name: string, owner: string): void {
    if (this.#entries.get(name)?.owner === owner) this.#entries.delete(name)
  }

  /** Tells the listeners that entries came or went. */
  announce(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  listen(listener: () => void): Disposer {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  get(name: string): unknown {
    return this.#entries.get(name)?.entry
  }

  names(): string[] {
    return [...this.#entries.keys()]
  }

  /** The names that one owner has added. */
  namesOf(owner: string): string[] {
    return this.names().filter((name) => this.#entries.get(name)?.owner === owner)
  }
}

/** The live view of a registry that one plugin reads; what it listens to is handed to `onDispose`. */
export function createRegistryReader<T>(
  entries: RegistryEntries,
  onDispose: (dispose: Disposer) => void,
): RegistryReader<T> {
  const pairs = () => entries.names().map((name) => [name, entries.get(name) as T] as const)
  return {
    get: (name) => entries.get(name) as T | undefined,
    has: (name) => entries.get(name) !== undefined,
    names: () => entries.names(),
    onChange(listener) {
      const dispose = entries.listen(listener)
      onDispose(dispose)
      return dispose
    },
    [Symbol.iterator]: () => pairs()[Symbol.iterator](),
  }
}

/** All registries of a node. A registry needs nobody to provide it: it is there when it is first named. */
export class Registries {
  readonly #byKey = new Map<string, RegistryEntries>()

  entries(key: string): RegistryEntries {
    let entries = this.#byKey.get(key)
    if (entries === undefined) {
      entries = new RegistryEntries(key)
      this.#byKey.set(key, entries)
    }
    return entries
  }
}
