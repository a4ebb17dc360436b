import { conflict, type Disposer, type RegistryReader } from '@nodekeep/plugin-sdk'
import { currentContext, type FaultContext } from '../faults/fault-context.ts'

interface Holding {
  readonly entry: unknown
  readonly owner: string
  readonly context: FaultContext
}

/** The entries of one registry, each with the plugin that added it. */
export class RegistryEntries {
  /** The key of the registry. */
  readonly id: string
  readonly #entries = new Map<string, Holding>()
  readonly #listeners = new Set<() => void>()
  readonly #reserved = new Set<string>()

  constructor(id: string) {
    this.id = id
  }

  /** Reserves names: no plugin can add them. */
  reserve(...names: readonly string[]): void {
    for (const name of names) this.#reserved.add(name)
  }

  /** @throws NodekeepError CONFLICT when the name is taken */
  refuseTaken(name: string, owner: string): void {
    if (this.#reserved.has(name)) {
      throw conflict(`The name "${name}" is reserved in the registry "${this.id}".`)
    }
    const holding = this.#entries.get(name)
    if (holding !== undefined) {
      throw conflict(
        `"${owner}" adds "${name}" to the registry "${this.id}", where "${holding.owner}" has that name already. ` +
          'Disable one of the two, or load it under another id.',
      )
    }
  }

  /**
   * @param context the fault context in which the kernel calls the entry
   * @throws NodekeepError CONFLICT when the name is taken
   */
  add(name: string, entry: unknown, owner: string, context: FaultContext = callersContext): void {
    this.refuseTaken(name, owner)
    this.#entries.set(name, { entry, owner, context })
  }

  remove(name: string, owner: string): void {
    if (this.#entries.get(name)?.owner === owner) this.#entries.delete(name)
  }

  /**
   * Tells the listeners that entries were added or removed. An exception of a listener reaches neither the others nor
   * the caller: it stays unhandled in the fault context in which the listener was added.
   */
  announce(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  listen(listener: () => void): Disposer {
    const context = currentContext()
    const guarded = () =>
      context(() => {
        try {
          listener()
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
      })
    this.#listeners.add(guarded)
    return () => {
      this.#listeners.delete(guarded)
    }
  }

  get(name: string): unknown {
    return this.#entries.get(name)?.entry
  }

  names(): string[] {
    return [...this.#entries.keys()]
  }

  ownerOf(name: string): string | undefined {
    return this.#entries.get(name)?.owner
  }

  /** Returns the names that one owner has added. */
  namesOf(owner: string): string[] {
    return this.names().filter((name) => this.#entries.get(name)?.owner === owner)
  }

  /** Returns the fault context of the plugin that added an entry. It stays usable when the entry is gone. */
  contextOf(name: string): FaultContext {
    return this.#entries.get(name)?.context ?? callersContext
  }
}

const callersContext: FaultContext = (work) => work()

/** Creates the live view of a registry for one plugin. `onDispose` gets a disposer for each of its listeners. */
export function createRegistryReader<T>(
  entries: RegistryEntries,
  onDispose: (dispose: Disposer) => void,
): RegistryReader<T> {
  // A plugin in JavaScript is not held to types.
  const refuseToAdd = (): never => {
    throw new TypeError(
      `The registry "${entries.id}" is declared for reading. To add entries, declare it in "contributes" under another name.`,
    )
  }
  const pairs = () => entries.names().map((name) => [name, entries.get(name) as T] as const)
  const reader: RegistryReader<T> & { add(): never } = {
    add: refuseToAdd,
    get: (name) => entries.get(name) as T | undefined,
    has: (name) => entries.get(name) !== undefined,
    names: () => entries.names(),
    ownerOf: (name) => entries.ownerOf(name),
    onChange(listener) {
      const dispose = entries.listen(listener)
      onDispose(dispose)
      return dispose
    },
    [Symbol.iterator]: () => pairs()[Symbol.iterator](),
  }
  return reader
}

/** All registries of a node. A registry exists as soon as it is first named. */
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
