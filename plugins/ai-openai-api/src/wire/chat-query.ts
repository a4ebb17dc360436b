import type { ChatQuery } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody } from './chat-body.ts'
import { readMessage } from './messages.ts'
import type { ModelName } from './model-name.ts'
import { readFormat } from './reply-format.ts'
import { readTools } from './tools.ts'
import { refuseUnsupported } from './unsupported.ts'

/**
 * Reads what a client asks for.
 *
 * @throws NodekeepError VALIDATION_ERROR for what no provider can be asked for
 */
export function readQuery(body: ChatRequestBody, { provider, model }: ModelName): ChatQuery {
  refuseUnsupported(body)
  return {
    provider,
    model,
    messages: body.messages.map(readMessage),
    ...readTuning(body),
    ...readTools(body),
    ...readFormat(body.response_format),
  }
}

type Tuning = Pick<
  ChatQuery,
  | 'maxTokens'
  | 'temperature'
  | 'topP'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'seed'
  | 'reasoningEffort'
  | 'stop'
>

function readTuning(body: ChatRequestBody): Tuning {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop
  const { temperature, top_p: topP, frequency_penalty: frequencyPenalty } = body
  const { presence_penalty: presencePenalty, seed, reasoning_effort: reasoningEffort } = body
  return {
    ...(maxTokens == null ? {} : { maxTokens }),
    ...(temperature == null ? {} : { temperature }),
    ...(topP == null ? {} : { topP }),
    ...(frequencyPenalty == null ? {} : { frequencyPenalty }),
    ...(presencePenalty == null ? {} : { presencePenalty }),
    ...(seed == null ? {} : { seed }),
    ...(reasoningEffort == null ? {} : { reasoningEffort }),
    ...(stop == null || stop.length === 0 ? {} : { stop }),
  }
}
