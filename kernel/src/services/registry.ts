import { conflict, type Disposer, type RegistryReader } from '@nodekeep/plugin-sdk'
import { currentContext, type FaultContext } from '../faults/fault-context.ts'

interface Holding<Entry> {
  readonly entry: Entry
  readonly owner: string
  readonly context: FaultContext
}

/** The entries of one registry, each with the plugin that added it. */
export class RegistryEntries<Entry = unknown> {
  /** The key of the registry. */
  readonly id: string
  readonly #entries = new Map<string, Holding<Entry>>()
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
  add(name: string, entry: Entry, owner: string, context: FaultContext = callersContext): void {
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

  get(name: string): Entry | undefined {
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

  /**
   * Calls an entry in the fault context of the plugin that added it: an error that it leaves unhandled is blamed on that plugin and does not
   * end the process. So are exceptions of its listeners on the signal that it gets, which no longer aborts after the call.
   *
   * @param signal aborts when nobody waits for the call any more
   * @throws the reason of the signal when it is aborted already; otherwise the error of the call
   */
  async call<T>(
    name: string,
    signal: AbortSignal,
    work: (entry: Entry, signal: AbortSignal) => Promise<T> | T,
  ): Promise<T> {
    signal.throwIfAborted()
    const holding = this.#entries.get(name)
    if (holding === undefined) throw new Error(`The registry "${this.id}" has no "${name}" any more.`)
    const { entry, context } = holding
    const own = new AbortController()
    const abort = () => context(() => own.abort(signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await context(() => work(entry, own.signal))
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}

const callersContext: FaultContext = (work) => work()

/** Creates the live view of a registry for one plugin. `onDispose` gets a disposer for each of its listeners. */
export function createRegistryReader<T>(
  entries: RegistryEntries<T>,
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
    get: (name) => entries.get(name),
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

  /** @typeParam Entry the type that the SDK declares for the entries of this registry */
  entries<Entry = unknown>(key: string): RegistryEntries<Entry> {
    const entries = this.#byKey.get(key) ?? new RegistryEntries(key)
    this.#byKey.set(key, entries)
    return entries as RegistryEntries<Entry>
  }
}
