import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Names that are listed in a message. */
const mostNames = 50

/** @param providers those that there are */
export function noSuchProvider(name: string, providers: readonly string[]): NodekeepError {
  const rest = providers.length === 0 ? 'There is none.' : `There are: ${listed(providers)}.`
  return new NodekeepError('NOT_FOUND', `There is no AI provider "${name}". ${rest}`)
}

/** @param models those that the provider tells */
export function noSuchModel(
  provider: string,
  model: string,
  models: readonly string[],
  cause: unknown,
): NodekeepError {
  const rest = models.length === 0 ? 'What it has is not known now.' : `It has: ${listed(models)}.`
  return new NodekeepError(
    'NOT_FOUND',
    `The AI provider "${provider}" does not have the model "${model}". ${rest}`,
    {
      cause,
      permanent: true,
    },
  )
}

function listed(names: readonly string[]): string {
  const more = names.length - mostNames
  return `${names.slice(0, mostNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
