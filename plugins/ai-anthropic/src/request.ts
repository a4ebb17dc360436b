import type Anthropic from '@anthropic-ai/sdk'
import { type ChatRequest, type ChatTool, type ChatToolChoice, NodekeepError } from '@nodekeep/plugin-sdk'
import { conversation } from './messages.ts'

/**
 * The longest reply when a request doesn't say, in tokens: the API wants a number. Thinking counts, too; every model of
 * the API's current version can write more than this.
 */
export const defaultMaxTokens = 16384

/**
 * A request in the words of the Messages API (version 2026-10-21). `temperature` and `topP` are left out: since that
 * version the API refuses them whatever their value. It has no words for penalties, a seed, and details of images.
 *
 * @throws NodekeepError VALIDATION_ERROR for what the API has no words for
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
 * The tools of a request and which of them the model has to call; nothing where there are none.
 *
 * @throws NodekeepError VALIDATION_ERROR for a strict tool with a schema that the API cannot take
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
 * What a reply has to be, and how much is thought for it; `null` where a request says neither.
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
      'This provider writes JSON by a JSON Schema of the type "object" only. Give it one.',
      { permanent: true },
    )
  }
  const described = { ...(description !== undefined && { description }), ...schema }
  return { type: 'json_schema', schema: await closedSchema(described) }
}

/** The API knows nothing below `low`. */
function effort(wanted: Effort): NonNullable<Anthropic.OutputConfig['effort']> {
  return wanted === 'none' || wanted === 'minimal' ? 'low' : wanted
}

/**
 * The JSON Schema of an object in the form that the API can keep a model to. It knows a part of JSON Schema only; the
 * SDK turns what goes beyond it into descriptions, which the model reads.
 *
 * @throws NodekeepError VALIDATION_ERROR for one that the API cannot take
 */
async function closedSchema(schema: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const { jsonSchemaOutputFormat } = await import('@anthropic-ai/sdk/helpers/json-schema')
  try {
    return jsonSchemaOutputFormat({ ...schema, type: 'object' }).schema
  } catch (error) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider cannot keep to this JSON Schema. Give each part of it a type.',
      { cause: error, permanent: true },
    )
  }
}
