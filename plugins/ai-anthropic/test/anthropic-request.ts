import type { IncomingHttpHeaders } from 'node:http'
import type { ChatMessage, ChatPart, ChatTool, ChatToolChoice } from '@nodekeep/plugin-sdk'
import type { ReceivedChat } from '@nodekeep/plugin-sdk/conformance/ai'

type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: { readonly media_type: string; readonly data: string } }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object }
  | { readonly type: 'tool_result'; readonly tool_use_id: string; readonly content: string }

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly Block[]
}

/** The fields of the body of `POST /v1/messages` that the tests need. */
export interface MessagesRequest {
  readonly model: string
  readonly max_tokens: number
  readonly messages: readonly Turn[]
  readonly stream: true
  readonly system?: readonly { readonly type: 'text'; readonly text: string }[]
  readonly stop_sequences?: readonly string[]
  readonly tools?: readonly {
    readonly name: string
    readonly description?: string
    readonly input_schema: Record<string, unknown>
    readonly strict?: boolean
  }[]
  readonly tool_choice?: {
    readonly type: string
    readonly name?: string
    readonly disable_parallel_tool_use?: boolean
  }
  readonly output_config?: {
    readonly format?: { readonly schema: Record<string, unknown> }
    readonly effort?: NonNullable<ReceivedChat['reasoningEffort']>
  }
}

const fields: ReadonlySet<string> = new Set<keyof MessagesRequest>([
  'model',
  'max_tokens',
  'messages',
  'stream',
  'system',
  'stop_sequences',
  'tools',
  'tool_choice',
  'output_config',
])

/** Returns the error of the API for a request, or `null`. */
export function refusal(
  headers: IncomingHttpHeaders,
  key: string,
  body?: MessagesRequest,
): { readonly status: number; readonly message: string } | null {
  if (headers.authorization !== `Bearer ${key}`) return { status: 401, message: 'invalid bearer token' }
  if (headers['anthropic-version'] !== '2026-10-21') {
    return { status: 400, message: 'anthropic-version: header is required' }
  }
  if (body === undefined) return null
  const wrong = errorsOf(body)[0]
  return wrong === undefined ? null : { status: 400, message: wrong }
}

function errorsOf(body: MessagesRequest): string[] {
  const unknown = Object.keys(body).find((field) => !fields.has(field))
  const turns = body.messages.map(({ content }) => content)
  const blocks = turns.flatMap((content) => (typeof content === 'string' ? [] : content))
  return [
    ...(unknown === undefined ? [] : [`${unknown}: Extra inputs are not permitted`]),
    ...(Number.isInteger(body.max_tokens) ? [] : ['max_tokens: Field required']),
    ...(body.messages.length > 0 ? [] : ['messages: at least one message is required']),
    ...(turns.some(({ length }) => length === 0) ? ['messages: all messages must have content'] : []),
    ...(blocks.some((block) => block.type === 'text' && block.text === '')
      ? ['messages: text content blocks must be non-empty']
      : []),
  ]
}

/** Translates a request into the types of the contract. */
export function readChat(body: MessagesRequest): ReceivedChat {
  const { model, max_tokens, system = [], messages, stop_sequences, tools, tool_choice, output_config } = body
  return {
    model,
    maxTokens: max_tokens,
    messages: [
      ...(system.length > 0 ? [{ role: 'system', content: system } as const] : []),
      ...messages.flatMap(readTurn),
    ],
    ...(stop_sequences && { stop: stop_sequences }),
    ...(tools && { tools: tools.map(readTool) }),
    ...(tool_choice && { toolChoice: readChoice(tool_choice) }),
    ...(tool_choice?.disable_parallel_tool_use && { parallelToolCalls: false }),
    ...(output_config?.effort && { reasoningEffort: output_config.effort }),
    ...(output_config?.format && { json: { schema: opened(output_config.format.schema) } }),
  }
}

function readTurn({ role, content }: Turn): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content.flatMap((block): ChatMessage[] =>
    block.type === 'tool_result'
      ? [{ role: 'tool', toolCallId: block.tool_use_id, content: block.content }]
      : [],
  )
  if (results.length > 0) return results
  if (role === 'user') return [{ role, content: content.flatMap(readPart) }]
  const toolCalls = content.flatMap((block) =>
    block.type === 'tool_use'
      ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }]
      : [],
  )
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  return [{ role, content: text, ...(toolCalls.length > 0 && { toolCalls }) }]
}

function readPart(block: Block): ChatPart[] {
  if (block.type === 'text') return [block]
  if (block.type !== 'image') return []
  return [{ type: 'image', url: `data:${block.source.media_type};base64,${block.source.data}` }]
}

function readTool({ input_schema, ...tool }: NonNullable<MessagesRequest['tools']>[number]): ChatTool {
  return { ...tool, parameters: input_schema }
}

function readChoice({ type, name }: NonNullable<MessagesRequest['tool_choice']>): ChatToolChoice {
  if (name !== undefined) return { name }
  return type === 'any' ? 'required' : (type as ChatToolChoice)
}

/** Opens an object schema. The API takes closed objects only, the contract also open ones. */
function opened({ additionalProperties: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema
}
