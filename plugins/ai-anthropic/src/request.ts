import type Anthropic from '@anthropic-ai/sdk'
import { type ChatRequest, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import { conversation } from './messages.ts'

/**
 * The longest reply in tokens, if the request has no limit: the API requires one. It includes thoughts. Every model of
 * the API's current version can write more.
 */
const defaultMaxTokens = 16384

/**
 * Converts a request for the Messages API (version 2026-10-21). That version refuses `temperature` and `topP`, and has no
 * penalties, seed and image details, so they are left out.
 *
 * @throws NodekeepError VALIDATION_ERROR for content that the API cannot express
 */
export async function messageParams(request: ChatRequest): Promise<Anthropic.MessageCreateParamsStreaming> {
  const { model, maxTokens = defaultMaxTokens, stop } = request
  const { system, messages } = conversation(request.messages)
  const output = await outputConfig(request)
  return {
    model,
    max_tokens: maxTokens,
    messages,
    stream: true,
    ...(system.length > 0 && { system }),
    ...(stop?.length && { stop_sequences: [...stop] }),
    ...(await toolParams(request)),
    ...(output && { output_config: output }),
  }
}

/**
 * Converts the tools of a request and the tool choice.
 *
 * @throws NodekeepError VALIDATION_ERROR for a strict tool whose schema the API cannot take
 */
async function toolParams({
  tools = [],
  toolChoice = 'auto',
  parallelToolCalls = true,
}: ChatRequest): Promise<Pick<Anthropic.MessageCreateParams, 'tools' | 'tool_choice'>> {
  if (tools.length === 0) return {}
  return {
    tools: await Promise.all(tools.map(toolParam)),
    tool_choice: choiceParam(toolChoice, parallelToolCalls),
  }
}

async function toolParam({
  name,
  description,
  parameters,
  strict = false,
}: ChatTool): Promise<Anthropic.Tool> {
  const schema = strict ? await closedSchema(parameters) : parameters
  return {
    name,
    input_schema: { ...schema, type: 'object' },
    ...(description !== undefined && { description }),
    ...(strict && { strict }),
  }
}

function choiceParam(choice: ChatToolChoice, parallel: boolean): Anthropic.ToolChoice {
  if (choice === 'none') return { type: 'none' }
  const single = parallel ? {} : { disable_parallel_tool_use: true }
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...single }
  return { type: choice === 'required' ? 'any' : 'auto', ...single }
}

type Json = NonNullable<ChatRequest['json']>
type Effort = NonNullable<ChatRequest['reasoningEffort']>

/**
 * Converts the form of the reply and the effort, or returns `null` if the request has neither.
 *
 * @throws NodekeepError VALIDATION_ERROR for JSON without a schema, or with one that the API cannot take
 */
async function outputConfig({ json, reasoningEffort }: ChatRequest): Promise<Anthropic.OutputConfig | null> {
  if (json === undefined && reasoningEffort === undefined) return null
  return {
    ...(json && { format: await outputFormat(json) }),
    ...(reasoningEffort && { effort: effort(reasoningEffort) }),
  }
}

async function outputFormat({ schema, description }: Json): Promise<Anthropic.JSONOutputFormat> {
  if (schema?.type !== 'object') {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider needs a JSON Schema of the type "object" for a reply in JSON. Add one.',
      { permanent: true },
    )
  }
  const described = { ...(description !== undefined && { description }), ...schema }
  return { type: 'json_schema', schema: await closedSchema(described) }
}

/** The lowest effort of the API is `low`. */
function effort(requested: Effort): NonNullable<Anthropic.OutputConfig['effort']> {
  return requested === 'none' || requested === 'minimal' ? 'low' : requested
}

/**
 * Converts the JSON Schema of an object for strict output. The API supports a part of JSON Schema; the SDK turns the rest
 * into descriptions, which the model reads.
 *
 * @throws NodekeepError VALIDATION_ERROR for a schema that the API cannot take
 */
async function closedSchema(schema: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const { jsonSchemaOutputFormat } = await import('@anthropic-ai/sdk/helpers/json-schema')
  try {
    return jsonSchemaOutputFormat({ ...schema, type: 'object' }).schema
  } catch (error) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider does not support this JSON Schema. Give each part of it a type.',
      { cause: error, permanent: true },
    )
  }
}
