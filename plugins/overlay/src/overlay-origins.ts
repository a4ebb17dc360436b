import type { Disposer, RegistryWriter } from '@nodekeep/plugin-sdk'

/**
 * The origins that the network forwards to the node, as public origins of the node.
 *
 * Origins of plain HTTP do not belong to them. Nobody can sign in there, and a page that somebody on the way slips in must not count
 * as a page of the node.
 */
export class OverlayOrigins {
  readonly #registry: RegistryWriter<string>
  readonly #added = new Map<string, Disposer>()

  constructor(registry: RegistryWriter<string>) {
    this.#registry = registry
  }

  set(origins: readonly string[]): void {
    const secure = new Set(origins.filter((origin) => origin.startsWith('https:')))
    for (const [origin, remove] of this.#added) {
      if (secure.has(origin)) continue
      remove()
      this.#added.delete(origin)
    }
    for (const origin of secure) {
      if (this.#added.has(origin)) continue
      this.#added.set(origin, this.#registry.add(`overlay ${new URL(origin).host}`, origin))
    }
  }

  /** The names in these origins. */
  names(): string[] {
    return [...new Set([...this.#added.keys()].map((origin) => new URL(origin).hostname))]
  }
}
