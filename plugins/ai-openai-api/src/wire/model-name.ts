import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The models of each provider, by the provider's name. */
type ModelLists = Readonly<Record<string, readonly string[]>>

/** A model and its provider. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** The models of the node. */
interface KnownModels {
  /** Names of the loaded providers, and of those that have fallbacks. */
  providers(): readonly string[]
  /** Called only if the name alone does not tell the provider, because it may take some time. */
  models(): Promise<ModelLists>
}

/**
 * Resolves the model name of a client: `provider/model`, or the name of a model that only one provider lists. Names of
 * models may have slashes, so the text before the first slash counts only if it is a provider.
 *
 * @param defaultProvider the provider to use if no list has the model, or several lists do
 * @throws NodekeepError NOT_FOUND, or VALIDATION_ERROR if several providers list the model
 */
export async function resolveModel(
  name: string,
  known: KnownModels,
  defaultProvider: string | null,
): Promise<ModelName> {
  const slash = name.indexOf('/')
  const first = name.slice(0, Math.max(0, slash))
  if (slash < name.length - 1 && known.providers().includes(first)) {
    return { provider: first, model: name.slice(slash + 1) }
  }
  return listedModel(name, await known.models(), defaultProvider)
}

/** Makes the error for a model that no provider lists. */
export function unknownModel(name: string): NodekeepError {
  const message = `There is no model "${name}". GET /v1/models lists all models.`
  return new NodekeepError('NOT_FOUND', message, { reason: 'model_not_found' })
}

function listedModel(name: string, lists: ModelLists, defaultProvider: string | null): ModelName {
  const providers = Object.keys(lists).filter((provider) => lists[provider]?.includes(name))
  const [only, other] = providers
  if (only !== undefined && other === undefined) return { provider: only, model: name }
  if (defaultProvider !== null && (only === undefined || providers.includes(defaultProvider))) {
    return { provider: defaultProvider, model: name }
  }
  if (only === undefined) {
    throw unknownModel(name)
  }
  const choices = providers.map((provider) => `"${provider}/${name}"`).join(', ')
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Several providers have a model "${name}". Name one of ${choices}.`,
  )
}
