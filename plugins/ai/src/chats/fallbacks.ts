/** A model of a provider. */
export interface ModelChoice {
  readonly provider: string
  readonly model: string
}

/** A model that configuration names, and whose provider is not there. */
export interface MissingModel {
  /** Under which key of `ai.fallbacks` it stands; it may be the key itself. */
  readonly key: string
  readonly model: string
  readonly provider: string
}

/** The models that may reply in the place of others. */
export class Fallbacks {
  /** The names of the providers that others may reply for. */
  readonly providers: ReadonlySet<string>
  readonly #byChoice: ReadonlyMap<string, readonly ModelChoice[]>

  /**
   * @param configured `provider/model` to a list of the same form; a model's name may have further slashes
   * @throws Error when a name has another form
   */
  constructor(configured: Readonly<Record<string, readonly string[]>>) {
    this.#byChoice = new Map(
      Object.entries(configured).map(([key, others]) => [keyOf(parse(key)), others.map(parse)]),
    )
    this.providers = new Set(Object.keys(configured).map((key) => parse(key).provider))
  }

  /**
   * The models that nobody has now.
   *
   * @param isThere whether there is a provider of such a name
   */
  *missing(isThere: (provider: string) => boolean): Generator<MissingModel> {
    for (const [key, others] of this.#byChoice) {
      for (const choice of [parse(key), ...others]) {
        if (!isThere(choice.provider)) yield { key, model: keyOf(choice), provider: choice.provider }
      }
    }
  }

  /** In the order in which they are to be asked. */
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
