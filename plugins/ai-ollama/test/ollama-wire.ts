import type { ChatMessage, ChatTool, ChatToolCall } from '@nodekeep/plugin-sdk'
import type { ModelScene, ReceivedChat } from '@nodekeep/plugin-sdk/conformance/ai'

type ReplyScene = Extract<ModelScene, { kind: 'reply' }>

interface WireCall {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: Record<string, unknown> }
}

interface WireMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly images?: readonly string[]
  readonly tool_calls?: readonly WireCall[]
  readonly tool_name?: string
  readonly tool_call_id?: string
}

/** The fields of the body of `POST /api/chat` that the tests need. */
export interface OllamaChat {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly stream: true
  readonly format?: 'json' | Record<string, unknown>
  readonly tools?: readonly { readonly type: 'function'; readonly function: ChatTool }[]
  readonly options?: {
    readonly num_predict?: number
    readonly temperature?: number
    readonly top_p?: number
    readonly frequency_penalty?: number
    readonly presence_penalty?: number
    readonly seed?: number
    readonly stop?: readonly string[]
  }
}

/** Returns a line of a reply, with its line end. */
export function line(fields: object): string {
  return `${JSON.stringify({ model: 'llama3.2:latest', created_at: '2026-11-20T12:00:00.123456Z', ...fields })}\n`
}

export function textLines(text: readonly string[]): string[] {
  return text.map((content) => line({ message: { role: 'assistant', content }, done: false }))
}

export function callLine({ id, name, arguments: text }: ChatToolCall, index: number): string {
  const call = { id, function: { index, name, arguments: JSON.parse(text) as unknown } }
  return line({ message: { role: 'assistant', content: '', tool_calls: [call] }, done: false })
}

export function lastLine(fields: object): string {
  return line({
    message: { role: 'assistant', content: '' },
    done: true,
    done_reason: 'stop',
    total_duration: 4883583458,
    load_duration: 1334875,
    ...fields,
  })
}

/** Returns the lines of a whole reply. Tool calls have no `done_reason` of their own. */
export function replyLines({
  thoughts = [],
  text,
  toolCalls = [],
  usage,
  finish,
  reason,
}: ReplyScene): string[] {
  return [
    ...thoughts.map((thinking) =>
      line({ message: { role: 'assistant', content: '', thinking }, done: false }),
    ),
    ...textLines(text),
    ...toolCalls.map(callLine),
    lastLine({
      done_reason: reason ?? (finish === 'length' ? 'length' : 'stop'),
      ...(usage && { prompt_eval_count: usage.inputTokens, eval_count: usage.outputTokens }),
    }),
  ]
}

/** Translates a request into the types of the contract. The protocol has no choice of a tool. */
export function readChat({ model, messages, format, tools, options = {} }: OllamaChat): ReceivedChat {
  const { num_predict, temperature, top_p, frequency_penalty, presence_penalty, seed, stop } = options
  return {
    model,
    messages: messages.map(readMessage),
    ...(num_predict !== undefined && { maxTokens: num_predict }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(frequency_penalty !== undefined && { frequencyPenalty: frequency_penalty }),
    ...(presence_penalty !== undefined && { presencePenalty: presence_penalty }),
    ...(seed !== undefined && { seed }),
    ...(stop && { stop }),
    ...(tools && { tools: tools.map((tool) => tool.function) }),
    ...(format && { json: format === 'json' ? {} : { schema: format } }),
  }
}

function readMessage({
  role,
  content,
  images = [],
  tool_calls = [],
  tool_call_id = '',
}: WireMessage): ChatMessage {
  if (role === 'tool') return { role, toolCallId: tool_call_id, content }
  if (role === 'assistant') {
    const toolCalls = tool_calls.map(({ id = '', function: { name, arguments: args } }) => ({
      id,
      name,
      arguments: JSON.stringify(args),
    }))
    return { role, content, ...(toolCalls.length > 0 && { toolCalls }) }
  }
  if (images.length === 0) return { role, content }
  const pictures = images.map((image) => ({ type: 'image', url: `data:image/png;base64,${image}` }) as const)
  return { role, content: [{ type: 'text', text: content }, ...pictures] }
}
