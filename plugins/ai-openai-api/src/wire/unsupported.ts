import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody } from './chat-body.ts'

/**
 * Refuses what no provider is asked for and what would make another reply: a client that got one without it would not
 * know.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function refuseUnsupported(body: ChatRequestBody): void {
  if ((body.n ?? 1) > 1) throw unsupported('n', 'one reply at a time')
  if (body.logprobs === true) throw unsupported('logprobs', 'text without probabilities')
  if (Object.keys(body.logit_bias ?? {}).length > 0)
    throw unsupported('logit_bias', 'words as the model weighs them')
  if (body.modalities?.some((kind) => kind !== 'text')) throw unsupported('modalities', 'text')
  if (body.functions != null) throw unsupported('functions', 'the same as "tools"')
  if (body.web_search_options != null) throw unsupported('web_search_options', 'what the model knows')
  if (body.moderation != null) throw unsupported('moderation', "each provider's own filter")
}

function unsupported(field: string, instead: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${field}" is not supported: the node gives ${instead}.`)
}
