import type { AiProvider, Log } from '@nodekeep/plugin-sdk'

export interface ModelListOptions {
  /** How long an answer waits for the first list. */
  readonly waitMs: number
  /** How long the provider may take. */
  readonly timeoutMs: number
  /** How long a list counts as new. */
  readonly keepMs: number
}

/** A name that is longer is none, and nobody has more models. */
const longestName = 512
const mostModels = 10_000

/**
 * The models of one provider. Only the first list is waited for, and not for long; after that there is always one,
 * and an old one is renewed while it is handed out. A provider that fails has none until it is asked again.
 */
export class ModelList {
  readonly #name: string
  readonly #provider: AiProvider
  readonly #options: ModelListOptions
  readonly #log: Log
  readonly #abort = new AbortController()
  #models: readonly string[] = []
  #asking: { readonly since: number; readonly done: Promise<void> } | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #isKnown = false
  #failed = false

  constructor(name: string, provider: AiProvider, options: ModelListOptions, log: Log) {
    this.#name = name
    this.#provider = provider
    this.#options = options
    this.#log = log
  }

  isOf(provider: AiProvider | undefined): boolean {
    return this.#provider === provider
  }

  async get(): Promise<readonly string[]> {
    if (this.#asking === null && performance.now() - this.#askedAt >= this.#options.keepMs) {
      this.#asking = { since: performance.now(), done: this.#ask() }
    }
    if (!this.#isKnown && this.#asking !== null) {
      const { since, done } = this.#asking
      await atMost(since + this.#options.waitMs - performance.now(), done)
    }
    return this.#models
  }

  /** Asks at the next `get` if the last answer was a failure, and waits for it as for the first. */
  forgetFailure(): void {
    if (!this.#failed) return
    this.#isKnown = false
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  /** Gives up what is under way. */
  close(): void {
    this.#abort.abort(new Error('The provider has gone.'))
  }

  async #ask(): Promise<void> {
    try {
      this.#models = namesIn(await this.#answer())
      if (this.#failed) this.#log.info({ provider: this.#name }, 'An AI provider tells its models again.')
      this.#failed = false
    } catch (error) {
      this.#models = []
      if (!this.#failed && !this.#abort.signal.aborted) {
        this.#log.warn({ provider: this.#name, err: error }, 'An AI provider does not tell its models.')
      }
      this.#failed = true
    }
    this.#askedAt = performance.now()
    this.#isKnown = true
    this.#asking = null
  }

  /** What the provider says, if it does in time. It need not listen to its signal. */
  #answer(): Promise<unknown> {
    const { timeoutMs } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const late = new AbortController()
    const giveUp = (reason: unknown) => {
      late.abort(reason)
      reject(reason)
    }
    const timer = setTimeout(() => giveUp(new Error(`It took longer than ${timeoutMs} ms.`)), timeoutMs)
    const gone = () => giveUp(this.#abort.signal.reason)
    this.#abort.signal.addEventListener('abort', gone)
    const call = async () => this.#provider.models(late.signal)
    call().then(resolve, reject)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#abort.signal.removeEventListener('abort', gone)
    })
  }
}

function namesIn(answer: unknown): readonly string[] {
  if (!Array.isArray(answer)) throw new TypeError('Its list of models is no array.')
  const names = new Set<string>()
  for (const name of answer.slice(0, mostModels)) {
    if (typeof name !== 'string') throw new TypeError('Its list of models has something else than names.')
    if (name !== '' && name.length <= longestName) names.add(name)
  }
  return [...names]
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  if (ms <= 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  work.then(resolve)
  await promise
  clearTimeout(timer)
}
