import { Type } from '@nodekeep/plugin-sdk'

/** One part of a message's content. */
export interface WirePart {
  readonly type: 'text' | 'image_url'
  readonly text?: string
  readonly image_url?: { readonly url: string }
}

export interface WireMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly WirePart[] | null
  readonly tool_calls?: readonly WireToolCall[] | null
  readonly tool_call_id?: string | null
}

/** A call of a tool that the model made earlier in the conversation. */
export interface WireToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface WireTool {
  readonly function: {
    readonly name: string
    readonly description?: string | null
    readonly parameters?: Readonly<Record<string, unknown>> | null
  }
}

/** A body of `POST /v1/chat/completions` whose shape has been checked. Clients write fields that they don't use as null. */
export interface ChatRequestBody {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean | null } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly stop?: string | readonly string[] | null
  readonly tools?: readonly WireTool[] | null
  readonly tool_choice?: string | { readonly function: { readonly name: string } } | null
  readonly response_format?: {
    readonly type: 'text' | 'json_object' | 'json_schema'
    readonly json_schema?: { readonly schema?: Readonly<Record<string, unknown>> | null }
  } | null
  readonly n?: number | null
  readonly logprobs?: boolean | null
  readonly modalities?: readonly string[] | null
  readonly functions?: unknown
}

const text = { type: 'string' }
const flag = { type: ['boolean', 'null'] }
const tokens = { type: ['integer', 'null'], minimum: 1, maximum: 2 ** 31 - 1 }
const toolName = { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' }
const jsonSchema = { type: ['object', 'null'] }
const stopText = { minLength: 1, maxLength: 1000 }
const callId = { type: ['string', 'null'], maxLength: 256 }

const part = object(['type'], {
  type: { enum: ['text', 'image_url'] },
  text,
  image_url: object(['url'], { url: text }),
})

const toolCall = object(['id', 'function'], {
  id: { type: 'string', maxLength: 256 },
  function: object(['name', 'arguments'], { name: { type: 'string', maxLength: 256 }, arguments: text }),
})

const message = object(['role'], {
  role: { enum: ['system', 'developer', 'user', 'assistant', 'tool'] },
  content: { type: ['string', 'array', 'null'], items: part },
  tool_calls: { type: ['array', 'null'], items: toolCall },
  tool_call_id: callId,
})

const tool = object(['type', 'function'], {
  type: { const: 'function' },
  function: object(['name'], {
    name: toolName,
    description: { type: ['string', 'null'] },
    parameters: jsonSchema,
  }),
})

/**
 * The shape of that body, as OpenAI's API reference describes it ("Chat"), as far as it is understood here. Fields
 * that are not named are left unread, since clients send many that only tune a reply.
 */
export const chatRequest = Type.Unsafe<ChatRequestBody>(
  object(['model', 'messages'], {
    model: { type: 'string', minLength: 1, maxLength: 512 },
    messages: { type: 'array', minItems: 1, items: message },
    stream: flag,
    stream_options: orNull(object([], { include_usage: flag })),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    top_p: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    stop: {
      type: ['string', 'array', 'null'],
      ...stopText,
      maxItems: 16,
      items: { type: 'string', ...stopText },
    },
    tools: { type: ['array', 'null'], maxItems: 256, items: tool },
    tool_choice: {
      type: ['string', 'object', 'null'],
      required: ['function'],
      properties: { function: object(['name'], { name: toolName }) },
    },
    response_format: orNull(
      object(['type'], {
        type: { enum: ['text', 'json_object', 'json_schema'] },
        json_schema: object([], { schema: jsonSchema }),
      }),
    ),
    n: { type: ['integer', 'null'], minimum: 1 },
    logprobs: flag,
    modalities: { type: ['array', 'null'], items: text },
  }),
)

function object(required: readonly string[], properties: Readonly<Record<string, object>>) {
  return { type: 'object', required: [...required], properties: { ...properties } }
}

function orNull(schema: ReturnType<typeof object>) {
  return { ...schema, type: ['object', 'null'] }
}
