import type { OwnAddress } from './own-address.ts'

/** The names of nodes: subdomains of the gateway's domain. */
export interface Names {
  /** Returns the id of the node to whose tunnel a name points, `null` if it points to none. */
  ownerOf(label: string): string | null
  /** Returns the address on the internet to which a name points, `null` if it points to none. */
  addressOf(label: string): OwnAddress | null
  /** Returns the names that point to the tunnel of a node. */
  labelsOf(nodeId: string): string[]
}

/** Names that the operator gives in the configuration. */
export class ConfiguredNames implements Names {
  readonly #owners: ReadonlyMap<string, string>

  constructor(owners: Readonly<Record<string, string>>) {
    this.#owners = new Map(Object.entries(owners))
  }

  ownerOf(label: string): string | null {
    return this.#owners.get(label) ?? null
  }

  addressOf(): null {
    return null
  }

  labelsOf(nodeId: string): string[] {
    return [...this.#owners].filter(([, owner]) => owner === nodeId).map(([label]) => label)
  }
}
