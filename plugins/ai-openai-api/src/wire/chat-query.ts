import { type ChatQuery, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody, WireTool } from './chat-body.ts'
import { readMessage } from './messages.ts'
import type { ModelName } from './model-name.ts'
import { readFormat } from './reply-format.ts'
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

/** @throws NodekeepError VALIDATION_ERROR */
function readTools(body: ChatRequestBody): Pick<ChatQuery, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tools, tool_choice: toolChoice, parallel_tool_calls: parallelToolCalls } = body
  const hasTools = tools != null && tools.length > 0
  return {
    ...(hasTools ? { tools: tools.map(readTool) } : {}),
    ...(toolChoice == null ? {} : { toolChoice: readToolChoice(toolChoice) }),
    // Some clients send it with every request. Without tools it says nothing.
    ...(hasTools && parallelToolCalls != null ? { parallelToolCalls } : {}),
  }
}

function readTool({ function: { name, description, parameters, strict } }: WireTool): ChatTool {
  return {
    name,
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(description == null ? {} : { description }),
    ...(strict == null ? {} : { strict }),
  }
}

/** @throws NodekeepError VALIDATION_ERROR */
function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): ChatToolChoice {
  if (typeof choice !== 'string' && choice.function !== undefined) return { name: choice.function.name }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'Invalid input: "tool_choice" must be "none", "auto", "required" or name a function.',
  )
}
