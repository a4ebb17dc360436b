import { type ChatQuery, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatRequestBody, WireFormat, WireTool } from './chat-body.ts'
import { readMessage } from './messages.ts'
import type { ModelName } from './model-name.ts'

/**
 * Converts a request into a query for the `ai` feature.
 *
 * @throws NodekeepError VALIDATION_ERROR for a request that no provider can serve
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

/**
 * Reads the tools and the tool choice. Some clients send a choice such as "auto" without tools, which is ignored.
 *
 * @throws NodekeepError VALIDATION_ERROR for a choice that needs a missing tool
 */
function readTools(body: ChatRequestBody): Pick<ChatQuery, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tool_choice, parallel_tool_calls: parallelToolCalls } = body
  const tools = (body.tools ?? []).map(readTool)
  const toolChoice = tool_choice == null ? undefined : readToolChoice(tool_choice)
  refuseImpossible(toolChoice, tools)
  if (tools.length === 0) return {}
  return {
    tools,
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(parallelToolCalls == null ? {} : { parallelToolCalls }),
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

function readToolChoice(choice: NonNullable<ChatRequestBody['tool_choice']>): ChatToolChoice {
  if (typeof choice !== 'string' && choice.function !== undefined) return { name: choice.function.name }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  throw wrong('"tool_choice" must be "none", "auto", "required" or name a function')
}

function refuseImpossible(choice: ChatToolChoice | undefined, tools: readonly ChatTool[]): void {
  if (choice === 'required' && tools.length === 0)
    throw wrong('"tool_choice" is "required", but there are no "tools"')
  if (typeof choice !== 'object' || tools.some(({ name }) => name === choice.name)) return
  throw wrong(`"tool_choice" names "${choice.name}", which is none of the "tools"`)
}

/**
 * Reads the form of the reply. The schema of a `json_object` may be beside the type, as some servers have it.
 *
 * @throws NodekeepError VALIDATION_ERROR for a schema that is missing, or in a field where it would be ignored
 */
function readFormat(format: WireFormat | null | undefined): Pick<ChatQuery, 'json'> {
  if (format == null) return {}
  const { type, schema, json_schema: described } = format
  if (type === 'json_schema') return { json: readDescribed(described ?? {}) }
  if (described != null)
    throw wrong('"response_format" has a "json_schema", which needs the type "json_schema"')
  if (type === 'json_object') return { json: schema == null ? {} : { schema } }
  if (schema != null) throw wrong('"response_format" has a "schema", but asks for text')
  return {}
}

function readDescribed({
  name,
  description,
  schema,
  strict,
}: NonNullable<WireFormat['json_schema']>): NonNullable<ChatQuery['json']> {
  if (schema == null)
    throw wrong('"response_format" needs the JSON Schema of the reply as "json_schema.schema"')
  return {
    schema,
    ...(name == null ? {} : { name }),
    ...(description == null ? {} : { description }),
    ...(strict == null ? {} : { strict }),
  }
}

/**
 * Refuses fields that the node cannot pass on and that would change the reply. If they were ignored, the client would not
 * notice.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
function refuseUnsupported(body: ChatRequestBody): void {
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

function wrong(what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `Invalid input: ${what}.`)
}
