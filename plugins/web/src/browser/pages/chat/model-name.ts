import { providerName } from '../../provider-name.ts'
import * as texts from '../../texts.ts'

/** Models as the person chooses among them. */
interface ModelGroup {
  /** The provider, or the kind of models that are not for conversations. */
  readonly title: string
  /** As `provider/model`. */
  readonly models: readonly string[]
}

/** Models that take or give something else than conversations. Servers list them with the others, and tell no kind. */
const others =
  /embed|rerank|moderation|whisper|transcribe|tts|speech|realtime|dall-e|(gpt|chatgpt)-image|sora/i

/** Returns the name of a model, the same wherever it is shown. The provider stands beside it only if another one has the name, too. */
export function modelName(model: string, models: readonly string[]): string {
  const [provider = ''] = model.split('/', 1)
  const name = model.slice(provider.length + 1)
  const isShared = models.some((other) => other !== model && other.slice(other.indexOf('/') + 1) === name)
  return isShared ? `${name} (${providerName(provider)})` : name
}

/** Groups models by their provider. Those that are not for conversations come last. */
export function modelGroups(models: readonly string[]): ModelGroup[] {
  const kinds = Map.groupBy(models, (model) =>
    others.test(model) ? texts.chat.otherModels : providerName(model.split('/', 1)[0] ?? ''),
  )
  return [...kinds]
    .map(([title, members]) => ({ title, models: members }))
    .sort((a, b) => Number(a.title === texts.chat.otherModels) - Number(b.title === texts.chat.otherModels))
}

/** Returns the first model that is for conversations; an empty text without models. */
export function firstModel(models: readonly string[]): string {
  return modelGroups(models)[0]?.models[0] ?? ''
}
