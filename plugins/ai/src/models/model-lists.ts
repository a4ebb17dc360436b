import type { AiProvider, Log, RegistryReader } from '@nodekeep/plugin-sdk'
import { ModelList, type ModelListOptions } from './model-list.ts'

/** The models of all providers that are there now. */
export class ModelLists {
  readonly #providers: RegistryReader<AiProvider>
  readonly #options: ModelListOptions
  readonly #log: Log
  readonly #lists = new Map<string, ModelList>()

  constructor(providers: RegistryReader<AiProvider>, options: ModelListOptions, log: Log) {
    this.#providers = providers
    this.#options = options
    this.#log = log
  }

  async all(): Promise<Readonly<Record<string, readonly string[]>>> {
    const names = this.#providers.names()
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await this.of(name)] as const)),
    )
  }

  /** The models of one provider; none when it is not there. */
  async of(name: string): Promise<readonly string[]> {
    return this.#list(name)?.get() ?? []
  }

  /** The same where the provider has just answered something: one that failed to tell its models is asked again. */
  async ofAnswering(name: string): Promise<readonly string[]> {
    const list = this.#list(name)
    list?.forgetFailure()
    return list?.get() ?? []
  }

  #list(name: string): ModelList | null {
    const provider = this.#providers.get(name)
    if (provider === undefined) return null
    const known = this.#lists.get(name)
    if (known?.isOf(provider)) return known
    known?.close()
    const list = new ModelList(name, provider, this.#options, this.#log)
    this.#lists.set(name, list)
    return list
  }

  /** Forgets the lists of providers that have gone. */
  forgetGone(): void {
    for (const [name, list] of this.#lists) {
      if (list.isOf(this.#providers.get(name))) continue
      list.close()
      this.#lists.delete(name)
    }
  }

  /** Gives up everything that is under way. */
  close(): void {
    for (const list of this.#lists.values()) list.close()
    this.#lists.clear()
  }
}
