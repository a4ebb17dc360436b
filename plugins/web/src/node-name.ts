import type { StateStore } from '@nodekeep/plugin-sdk'

/** Characters of the longest name. */
export const longestName = 40

const key = 'name'

/** The name of the node: the one that the owner gave it on a page, or else that of the configuration. */
export class NodeName {
  readonly #state: StateStore
  readonly #configured: string
  #given: string | undefined

  private constructor(state: StateStore, configured: string, given: string | undefined) {
    this.#state = state
    this.#configured = configured
    this.#given = given
  }

  /** @param configured the name of the configuration */
  static async open(state: StateStore, configured: string): Promise<NodeName> {
    return new NodeName(state, configured, await state.get<string>(key))
  }

  get value(): string {
    return this.#given ?? this.#configured
  }

  /** @param name the name that holds from now on; `null` for that of the configuration */
  async give(name: string | null): Promise<void> {
    if (name === null) await this.#state.delete(key)
    else await this.#state.set(key, name)
    this.#given = name ?? undefined
  }
}
