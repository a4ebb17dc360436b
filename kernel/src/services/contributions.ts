import type { Disposer, RegistryWriter } from '@nodekeep/plugin-sdk'
import type { Registries, RegistryEntries } from './registry.ts'

interface Contribution {
  readonly registry: RegistryEntries
  readonly name: string
  readonly entry: unknown
}

/** What one plugin adds to registries: held back until it is active, taken back when it stops. */
export class Contributions {
  readonly #registries: Registries
  readonly #owner: string
  readonly #contributions = new Set<Contribution>()
  #published = false

  constructor(registries: Registries, owner: string) {
    this.#registries = registries
    this.#owner = owner
  }

  writer<T>(key: string): RegistryWriter<T> {
    const registry = this.#registries.entries(key)
    return { add: (name, entry) => this.#add({ registry, name, entry }) }
  }

  /** Makes everything visible at once, or nothing when a name is taken. */
  publish(): void {
    for (const { registry, name } of this.#contributions) registry.refuseTaken(name, this.#owner)
    this.#published = true
    for (const { registry, name, entry } of this.#contributions) registry.add(name, entry, this.#owner)
    this.#announce(this.#contributions)
  }

  withdraw(): void {
    const gone = [...this.#contributions]
    this.#contributions.clear()
    if (!this.#published) return
    this.#published = false
    for (const { registry, name } of gone) registry.remove(name, this.#owner)
    this.#announce(gone)
  }

  #add(contribution: Contribution): Disposer {
    const { registry, name } = contribution
    registry.refuseTaken(name, this.#owner)
    for (const other of this.#contributions) {
      if (other.registry === registry && other.name === name) {
        throw new TypeError(`"${this.#owner}" adds "${name}" twice to the same registry.`)
      }
    }
    this.#contributions.add(contribution)
    if (this.#published) {
      registry.add(name, contribution.entry, this.#owner)
      registry.announce()
    }
    return () => {
      if (!this.#contributions.delete(contribution) || !this.#published) return
      registry.remove(name, this.#owner)
      registry.announce()
    }
  }

  #announce(changed: Iterable<Contribution>): void {
    for (const registry of new Set([...changed].map((contribution) => contribution.registry))) {
      registry.announce()
    }
  }
}
