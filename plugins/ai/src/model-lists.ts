import {
  type AiProvider,
  isNodekeepError,
  type Log,
  type RegistryReader,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import { modelNames } from '@nodekeep/plugin-sdk/model-servers'
import { providerFailure, reasonOf } from './provider-failure.ts'

interface ModelListOptions {
  /** How long an answer waits for the first list, in milliseconds. */
  readonly waitMs: number
  /** How long a provider may take, in milliseconds. */
  readonly timeoutMs: number
  /** How long a list is not renewed, in milliseconds. */
  readonly keepMs: number
}

/** The last answer of a provider to the question for its models. */
interface ListState {
  readonly name: string
  /** `waiting` until the provider has answered for the first time. */
  readonly state: 'works' | 'empty' | 'failed' | 'waiting'
  /** The number of models. */
  readonly models: number
  /** Why the provider has failed, for people; null if it has not. */
  readonly problem: string | null
}

/** The models of all providers that are loaded now. */
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

  /** Returns the models of every provider, by its name. */
  async all(): Promise<Readonly<Record<string, readonly string[]>>> {
    const names = this.#providers.names()
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, (await this.#list(name)?.get()) ?? []] as const)),
    )
  }

  /** Tells about every provider whether it lists models, and asks again as {@link all} does. */
  async states(): Promise<ListState[]> {
    const lists = await this.all()
    return Object.entries(lists).map(([name, { length: models }]) => ({
      name,
      models,
      ...(this.#lists.get(name)?.state ?? { state: 'waiting', problem: null }),
    }))
  }

  /** Returns the models of a provider that has just answered. If its last list failed, it is asked again now. */
  async ofAnswering(name: string): Promise<readonly string[]> {
    const list = this.#list(name)
    list?.forgetFailure()
    return (await list?.get()) ?? []
  }

  /** Forgets the lists of providers that were unloaded. */
  forgetUnloaded(): void {
    for (const [name, list] of this.#lists) {
      if (list.provider === this.#providers.get(name)) continue
      list.close()
      this.#lists.delete(name)
    }
  }

  /** Cancels everything that is under way. */
  close(): void {
    for (const list of this.#lists.values()) list.close()
    this.#lists.clear()
  }

  #list(name: string): ModelList | null {
    const provider = this.#providers.get(name)
    if (provider === undefined) return null
    const known = this.#lists.get(name)
    if (known?.provider === provider) return known
    known?.close()
    const list = new ModelList(name, provider, this.#options, this.#log)
    this.#lists.set(name, list)
    return list
  }
}

/**
 * The models of one provider. Only the first list is waited for, and only briefly. Later there always is a list, and an
 * old one is renewed in the background. The list of a provider that fails is empty until it is asked again.
 */
class ModelList {
  readonly provider: AiProvider
  readonly #name: string
  readonly #options: ModelListOptions
  readonly #log: Log
  readonly #abort = new AbortController()
  #models: readonly string[] = []
  #asking: { readonly since: number; readonly done: Promise<void> } | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #known = false
  /** The last failure, for people; `null` after an answer. */
  #problem: string | null = null

  constructor(name: string, provider: AiProvider, options: ModelListOptions, log: Log) {
    this.#name = name
    this.provider = provider
    this.#options = options
    this.#log = log
  }

  async get(): Promise<readonly string[]> {
    const { keepMs, waitMs } = this.#options
    if (this.#asking === null && performance.now() - this.#askedAt >= keepMs) {
      this.#asking = { since: performance.now(), done: this.#ask() }
    }
    if (!this.#known && this.#asking !== null) {
      const { since, done } = this.#asking
      const restMs = since + waitMs - performance.now()
      if (restMs > 0) await withTimeLimit(done, restMs, 'The first list is late.').catch(() => {})
    }
    return this.#models
  }

  get state(): Pick<ListState, 'state' | 'problem'> {
    if (this.#problem !== null) return { state: 'failed', problem: this.#problem }
    if (!this.#known) return { state: 'waiting', problem: null }
    return { state: this.#models.length > 0 ? 'works' : 'empty', problem: null }
  }

  /** If the last list failed, the next `get` asks again, and waits as for the first list. */
  forgetFailure(): void {
    if (this.#problem === null) return
    this.#known = false
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  /** Cancels what is under way. */
  close(): void {
    this.#abort.abort(new Error('The provider was unloaded.'))
  }

  async #ask(): Promise<void> {
    try {
      this.#models = namesIn(await this.#answer())
      if (this.#problem !== null)
        this.#log.info({ provider: this.#name }, 'An AI provider lists its models again.')
      this.#problem = null
    } catch (error) {
      this.#models = []
      if (this.#problem === null && !this.#abort.signal.aborted) {
        const what = 'An AI provider does not list its models.'
        if (isNodekeepError(error)) {
          const { code, message } = error
          this.#log.warn({ provider: this.#name, code, ...reasonOf(error) }, `${what} ${message}`)
        } else this.#log.warn({ provider: this.#name, err: error }, what)
      }
      this.#problem = providerFailure(this.#name, error).message
    }
    this.#askedAt = performance.now()
    this.#known = true
    this.#asking = null
  }

  /** Asks the provider, which may ignore its signal. */
  #answer(): Promise<unknown> {
    const { timeoutMs } = this.#options
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(timeoutMs)])
    const call = async () => this.provider.models(signal)
    return withTimeLimit(call(), timeoutMs, `It took longer than ${timeoutMs} ms.`, this.#abort.signal)
  }
}

function namesIn(answer: unknown): readonly string[] {
  if (!Array.isArray(answer)) throw new TypeError('Its list of models is no array.')
  if (!answer.every((name) => typeof name === 'string')) {
    throw new TypeError('Its list of models has entries that are no names.')
  }
  return modelNames(answer)
}
