import { type ChatQuery, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody, WireTool } from './chat-request.ts'
import { readMessage } from './messages.ts'
import type { ModelName } from './model-name.ts'

/**
 * Reads what a client asks for.
 *
 * @throws NodekeepError VALIDATION_ERROR for what no provider can be asked for
 */
export function readQuery(body: ChatRequestBody, { provider, model }: ModelName): ChatQuery {
  if ((body.n ?? 1) > 1) throw unsupported('"n"', 'one reply at a time')
  if (body.logprobs === true) throw unsupported('"logprobs"', 'text without probabilities')
  if (body.functions != null) throw unsupported('"functions"', 'the same as "tools"')
  if (body.modalities?.some((kind) => kind !== 'text')) throw unsupported('"modalities"', 'text')
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop
  const json = readJson(body.response_format)
  const { temperature, top_p: topP, tools, tool_choice: toolChoice } = body
  return {
    provider,
    model,
    messages: body.messages.map(readMessage),
    ...(maxTokens == null ? {} : { maxTokens }),
    ...(temperature == null ? {} : { temperature }),
    ...(topP == null ? {} : { topP }),
    ...(stop == null || stop.length === 0 ? {} : { stop }),
    ...(tools == null || tools.length === 0 ? {} : { tools: tools.map(readTool) }),
    ...(toolChoice == null ? {} : { toolChoice: readToolChoice(toolChoice) }),
    ...(json === null ? {} : { json }),
  }
}

function readTool({ function: { name, description, parameters } }: WireTool): ChatTool {
  const schema = parameters ?? { type: 'object', properties: {} }
  return { name, parameters: schema, ...(description == null ? {} : { description }) }
}

/** @throws NodekeepError VALIDATION_ERROR */
function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): ChatToolChoice {
  if (typeof choice !== 'string') return { name: choice.function.name }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'Invalid input: "tool_choice" must be "none", "auto", "required" or name a function.',
  )
}

function readJson(format: ChatRequestBody['response_format']): NonNullable<ChatQuery['json']> | null {
  if (format == null || format.type === 'text') return null
  const schema = format.type === 'json_schema' ? format.json_schema?.schema : null
  return schema == null ? {} : { schema }
}

function unsupported(field: string, instead: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `${field} is not supported: the node gives ${instead}.`)
}
