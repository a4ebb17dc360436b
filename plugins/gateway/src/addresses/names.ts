/** The names of nodes: subdomains of the gateway's domain. */
export interface Names {
  /** Returns the id of the node with a name, `null` if nobody has it. */
  ownerOf(label: string): string | null
  /** Returns the names of a node. */
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

  labelsOf(nodeId: string): string[] {
    return [...this.#owners].filter(([, owner]) => owner === nodeId).map(([label]) => label)
  }
}
