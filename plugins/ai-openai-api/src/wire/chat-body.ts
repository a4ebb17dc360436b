import { type ChatPart, type ChatRequest, Type } from '@nodekeep/plugin-sdk'

/** The level of detail of an image. */
type WireDetail = NonNullable<Extract<ChatPart, { type: 'image' }>['detail']>

/** How much the model thinks. */
type WireEffort = NonNullable<ChatRequest['reasoningEffort']>

type JSONSchema = Readonly<Record<string, unknown>>

/** One part of a message's content. */
export interface WirePart {
  readonly type: 'text' | 'image_url' | 'refusal'
  readonly text?: string
  readonly image_url?: { readonly url: string; readonly detail?: WireDetail | null }
  readonly refusal?: string
}

export interface WireMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly WirePart[] | null
  /** The text with which the model refused. */
  readonly refusal?: string | null
  /** A spoken reply. */
  readonly audio?: unknown
  /** The older form of `tool_calls`. */
  readonly function_call?: unknown
  readonly tool_calls?: readonly WireToolCall[] | null
  readonly tool_call_id?: string | null
}

/** A call of a tool that the model made earlier in the conversation. */
interface WireToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface WireTool {
  readonly function: {
    readonly name: string
    readonly description?: string | null
    readonly parameters?: JSONSchema | null
    readonly strict?: boolean | null
  }
}

/** The form of the reply. */
export interface WireFormat {
  readonly type: 'text' | 'json_object' | 'json_schema'
  /** The schema of a `json_object`, where llama.cpp and other servers have it. */
  readonly schema?: JSONSchema | null
  readonly json_schema?: {
    readonly name?: string | null
    readonly description?: string | null
    readonly schema?: JSONSchema | null
    readonly strict?: boolean | null
  } | null
}

/** The validated body of `POST /v1/chat/completions`. Clients write unused fields as null. */
export interface ChatRequestBody {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean | null } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly frequency_penalty?: number | null
  readonly presence_penalty?: number | null
  readonly seed?: number | null
  readonly reasoning_effort?: WireEffort | null
  readonly stop?: string | readonly string[] | null
  readonly tools?: readonly WireTool[] | null
  readonly tool_choice?: string | { readonly function?: { readonly name: string } } | null
  readonly parallel_tool_calls?: boolean | null
  readonly response_format?: WireFormat | null
  readonly n?: number | null
  readonly logprobs?: boolean | null
  readonly logit_bias?: Readonly<Record<string, unknown>> | null
  readonly modalities?: readonly string[] | null
  readonly functions?: unknown
  readonly web_search_options?: unknown
  readonly moderation?: unknown
}

const details: readonly WireDetail[] = ['auto', 'low', 'high', 'original']
const efforts: readonly WireEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const flag = { type: ['boolean', 'null'] }
const tokens = { type: ['integer', 'null'], minimum: 1, maximum: 2 ** 31 - 1 }
const penalty = { type: ['number', 'null'], minimum: -2, maximum: 2 }
// Numbers beyond the safe integers would be rounded.
const safeInteger = {
  type: ['integer', 'null'],
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
}
const toolName = { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' }
const jsonSchema = { type: ['object', 'null'] }
const stopText = { minLength: 1, maxLength: 1000 }
const callId = { type: ['string', 'null'], maxLength: 256 }

const part = object(['type'], {
  type: { enum: ['text', 'image_url', 'refusal'] },
  text,
  image_url: object(['url'], { url: text, detail: { enum: [...details, null] } }),
  refusal: text,
})

const toolCall = object(['id', 'function'], {
  id: { type: 'string', maxLength: 256 },
  function: object(['name', 'arguments'], { name: { type: 'string', maxLength: 256 }, arguments: text }),
})

const message = object(['role'], {
  role: { enum: ['system', 'developer', 'user', 'assistant', 'tool'] },
  content: { type: ['string', 'array', 'null'], items: part },
  refusal: textOrNull,
  tool_calls: { type: ['array', 'null'], items: toolCall },
  tool_call_id: callId,
})

const tool = object(['type', 'function'], {
  type: { const: 'function' },
  function: object(['name'], {
    name: toolName,
    description: textOrNull,
    parameters: jsonSchema,
    strict: flag,
  }),
})

const format = object(['type'], {
  type: { enum: ['text', 'json_object', 'json_schema'] },
  schema: jsonSchema,
  json_schema: orNull(
    object([], { name: textOrNull, description: textOrNull, schema: jsonSchema, strict: flag }),
  ),
})

/**
 * The schema of that body (OpenAI's API reference, "Chat"). Fields that are not listed are ignored, because clients send
 * many fields that only tune a reply.
 */
export const chatRequest = Type.Unsafe<ChatRequestBody>(
  object(['model', 'messages'], {
    // A provider, a slash, and a model.
    model: { type: 'string', minLength: 1, maxLength: 256 + 1 + 512 },
    messages: { type: 'array', minItems: 1, items: message },
    stream: flag,
    stream_options: orNull(object([], { include_usage: flag })),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    top_p: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    frequency_penalty: penalty,
    presence_penalty: penalty,
    seed: safeInteger,
    reasoning_effort: { enum: [...efforts, null] },
    stop: {
      type: ['string', 'array', 'null'],
      ...stopText,
      maxItems: 16,
      items: { type: 'string', ...stopText },
    },
    tools: { type: ['array', 'null'], maxItems: 256, items: tool },
    tool_choice: {
      type: ['string', 'object', 'null'],
      properties: { function: object(['name'], { name: toolName }) },
    },
    parallel_tool_calls: flag,
    response_format: orNull(format),
    n: { type: ['integer', 'null'], minimum: 1 },
    logprobs: flag,
    logit_bias: { type: ['object', 'null'] },
    modalities: { type: ['array', 'null'], items: text },
  }),
)

function object(required: readonly string[], properties: Readonly<Record<string, object>>) {
  return { type: 'object', required: [...required], properties: { ...properties } }
}

function orNull(schema: ReturnType<typeof object>) {
  return { ...schema, type: ['object', 'null'] }
}
