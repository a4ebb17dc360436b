/** A model of a provider. */
export interface ModelChoice {
  readonly provider: string
  readonly model: string
}

/** A model in `ai.fallbacks` whose provider is not loaded. */
interface MissingModel {
  /** The key of `ai.fallbacks` that names the model. It may be the model itself. */
  readonly key: string
  readonly model: string
  readonly provider: string
}

/** The models that may reply if others fail (`ai.fallbacks`). */
export class Fallbacks {
  /** Names of the providers that have fallbacks. */
  readonly providers: ReadonlySet<string>
  readonly #byChoice: ReadonlyMap<string, readonly ModelChoice[]>

  /**
   * @param configured `provider/model` to a list of such names; the name of a model may have further slashes
   * @throws Error if a name has another form
   */
  constructor(configured: Readonly<Record<string, readonly string[]>>) {
    this.#byChoice = new Map(
      Object.entries(configured).map(([key, others]) => [keyOf(parse(key)), others.map(parse)]),
    )
    this.providers = new Set(Object.keys(configured).map((key) => parse(key).provider))
  }

  /** Lists the models whose provider is not loaded. */
  *missing(isLoaded: (provider: string) => boolean): Generator<MissingModel> {
    for (const [key, others] of this.#byChoice) {
      for (const choice of [parse(key), ...others]) {
        if (!isLoaded(choice.provider)) yield { key, model: keyOf(choice), provider: choice.provider }
      }
    }
  }

  /** Returns the fallbacks of a model in the order in which they are asked. */
  of(choice: ModelChoice): readonly ModelChoice[] {
    return this.#byChoice.get(keyOf(choice)) ?? []
  }
}

function parse(text: string): ModelChoice {
  const slash = text.indexOf('/')
  const [provider, model] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)]
  if (provider !== '' && model !== '') return { provider, model }
  throw new Error(
    `"${text}" in ai.fallbacks names no model. Write "provider/model", such as "ollama/llama3.2".`,
  )
}

function keyOf({ provider, model }: ModelChoice): string {
  return `${provider}/${model}`
}
