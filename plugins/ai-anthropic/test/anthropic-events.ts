import type { ChatFinishReason, ChatToolCall } from '@nodekeep/plugin-sdk'
import type { ModelScene } from '@nodekeep/plugin-sdk/conformance/ai'

type ReplyScene = Extract<ModelScene, { kind: 'reply' }>

const stopReasons: Readonly<Record<ChatFinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Returns the events of a whole reply, each in its form on the wire. */
export function replyEvents({
  thoughts = [],
  text,
  toolCalls = [],
  usage,
  finish,
  reason,
}: ReplyScene): string[] {
  const { inputTokens, outputTokens } = usage ?? { inputTokens: 1, outputTokens: 1 }
  const first = thoughts.length > 0 ? 1 : 0
  const blocks = first + (text.length > 0 ? 1 : 0)
  return [
    messageStart(inputTokens),
    ...(first > 0 ? thinkingBlock(thoughts) : []),
    ...(blocks > first ? [...textBlock(text, first), event('content_block_stop', { index: first })] : []),
    ...toolCalls.flatMap((call, index) => toolBlock(call, blocks + index)),
    event('message_delta', {
      delta: {
        container: null,
        stop_reason: reason ?? stopReasons[finish],
        stop_sequence: null,
        stop_details: null,
      },
      usage: { input_tokens: inputTokens, output_tokens: outputTokens },
    }),
    event('message_stop', {}),
  ]
}

/** Returns the events of a reply without its end. */
export function textEvents(text: readonly string[]): string[] {
  return [messageStart(1), ...textBlock(text)]
}

/** Returns an event in its form on the wire. */
export function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

export function errorEvent(type: string, message: string): string {
  return event('error', { error: { type, message } })
}

export function errorBody(status: number, message: string): object {
  const type = errorTypes[status] ?? 'api_error'
  return { type: 'error', error: { type, message }, request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy' }
}

export function messageStart(inputTokens: number, usage: object = {}): string {
  return event('message_start', {
    message: {
      id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: inputTokens, output_tokens: 1, ...usage },
    },
  })
}

export function textBlock(text: readonly string[], index = 0): string[] {
  return [
    event('content_block_start', { index, content_block: { type: 'text', text: '', citations: null } }),
    event('ping', {}),
    ...text.map((piece) =>
      event('content_block_delta', { index, delta: { type: 'text_delta', text: piece } }),
    ),
  ]
}

function thinkingBlock(thoughts: readonly string[]): string[] {
  const index = 0
  const deltas = thoughts.map((thinking) => ({ type: 'thinking_delta', thinking }))
  return [
    event('content_block_start', { index, content_block: { type: 'thinking', thinking: '', signature: '' } }),
    ...[...deltas, { type: 'signature_delta', signature: 'EqQBCgIYAhIM' }].map((delta) =>
      event('content_block_delta', { index, delta }),
    ),
    event('content_block_stop', { index }),
  ]
}

export function toolBlock({ id, name, arguments: text }: ChatToolCall, index: number): string[] {
  const half = Math.ceil(text.length / 2)
  return [
    event('content_block_start', {
      index,
      content_block: { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } },
    }),
    ...['', text.slice(0, half), text.slice(half)].map((partial_json) =>
      event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
    ),
    event('content_block_stop', { index }),
  ]
}
