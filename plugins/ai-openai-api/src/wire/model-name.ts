import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The models of each provider, by the provider's name. */
export type ModelLists = Readonly<Record<string, readonly string[]>>

/** A model, and who has it. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** What the node has. */
export interface KnownModels {
  /** Names of providers, also of those that are not there and that others reply for. */
  providers(): readonly string[]
  /** Asked only where the name alone doesn't say who has the model: providers may take their time to tell. */
  models(): Promise<ModelLists>
}

/**
 * Finds out which model a client means: `provider/model`, or the model's own name where only one provider lists it.
 * Models have slashes in their names too, so what stands before the first one counts only if it is a provider.
 *
 * @param defaultProvider who is asked where no list has the model, or several do
 * @throws NodekeepError NOT_FOUND, VALIDATION_ERROR where several providers have it
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

function listedModel(name: string, lists: ModelLists, defaultProvider: string | null): ModelName {
  const having = Object.keys(lists).filter((provider) => lists[provider]?.includes(name))
  const [only, other] = having
  if (only !== undefined && other === undefined) return { provider: only, model: name }
  if (defaultProvider !== null && (only === undefined || having.includes(defaultProvider))) {
    return { provider: defaultProvider, model: name }
  }
  if (only === undefined) {
    throw new NodekeepError('NOT_FOUND', `There is no model "${name}". GET /v1/models lists all there are.`)
  }
  const choices = having.map((provider) => `"${provider}/${name}"`).join(', ')
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Several providers have a model "${name}". Name one of ${choices}.`,
  )
}
