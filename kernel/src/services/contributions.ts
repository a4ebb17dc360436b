import type { Disposer, EntryCheck, Registry, RegistryWriter } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { currentContext, type FaultContext } from '../faults/fault-context.ts'
import type { Registries, RegistryEntries } from './registry.ts'

interface Contribution {
  readonly registry: RegistryEntries
  readonly name: string
  readonly entry: unknown
  readonly context: FaultContext
}

/** The registry entries of one plugin. They become visible when the plugin is active and go when it stops. */
export class Contributions {
  readonly #registries: Registries
  readonly #owner: string
  readonly #contributions = new Set<Contribution>()
  #published = false
  #withdrawn = false

  constructor(registries: Registries, owner: string) {
    this.#registries = registries
    this.#owner = owner
  }

  writer<T>(token: Registry<T>): RegistryWriter<T> {
    const key = tokenKey(token)
    const registry = this.#registries.entries(key)
    return {
      add: (name, entry) => {
        refuseInvalid(this.#owner, key, name, entry, token.check)
        return this.#add({ registry, name, entry, context: currentContext() })
      },
    }
  }

  /** Makes everything visible at once, or nothing when a name is taken. */
  publish(): void {
    for (const { registry, name } of this.#contributions) registry.refuseTaken(name, this.#owner)
    this.#published = true
    for (const contribution of this.#contributions) this.#show(contribution)
    this.#announce(this.#contributions)
  }

  /** Removes all entries. Entries that are added afterwards never become visible. */
  withdraw(): void {
    this.#withdrawn = true
    const gone = [...this.#contributions]
    this.#contributions.clear()
    if (!this.#published) return
    this.#published = false
    for (const { registry, name } of gone) registry.remove(name, this.#owner)
    this.#announce(gone)
  }

  #add(contribution: Contribution): Disposer {
    if (this.#withdrawn) return () => {}
    const { registry, name } = contribution
    registry.refuseTaken(name, this.#owner)
    for (const other of this.#contributions) {
      if (other.registry === registry && other.name === name) {
        throw new TypeError(`"${this.#owner}" adds "${name}" twice to the same registry.`)
      }
    }
    this.#contributions.add(contribution)
    if (this.#published) {
      this.#show(contribution)
      registry.announce()
    }
    return () => {
      if (!this.#contributions.delete(contribution) || !this.#published) return
      registry.remove(name, this.#owner)
      registry.announce()
    }
  }

  #show({ registry, name, entry, context }: Contribution): void {
    registry.add(name, entry, this.#owner, context)
  }

  #announce(changed: Iterable<Contribution>): void {
    for (const registry of new Set([...changed].map((contribution) => contribution.registry))) {
      registry.announce()
    }
  }
}

/** Plugins in JavaScript are not held by types, and names appear in URLs and in messages. */
function refuseInvalid<T>(owner: string, key: string, name: unknown, entry: T, check?: EntryCheck<T>): void {
  if (typeof name !== 'string' || !/^[^/\p{Cc}]{1,256}$/u.test(name)) {
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 300)) : typeof name
    throw new TypeError(
      `"${owner}" adds to the registry "${key}" under the name ${shown}. A name is a text of 1 to 256 characters without "/".`,
    )
  }
  const problem = entry == null ? `is ${entry}` : (check?.(entry) ?? null)
  if (problem !== null) {
    throw new TypeError(`"${owner}" adds "${name}" to the registry "${key}", but the entry ${problem}.`)
  }
}
