import type { ChatDelta, ChatFinishReason, ChatReply } from '@nodekeep/plugin-sdk'
import { replyHead, wireUsage } from './reply-head.ts'

interface WireToolCall {
  id: string
  readonly type: 'function'
  readonly function: { name: string; arguments: string }
}

/** Gathers a reply into one `chat.completion`. */
export async function completion(reply: ChatReply): Promise<string> {
  const pieces: string[] = []
  const calls: WireToolCall[] = []
  let finish: ChatFinishReason = 'stop'
  let usage: ReturnType<typeof wireUsage> | undefined
  for await (const delta of reply.deltas) {
    if (delta.type === 'text') pieces.push(delta.text)
    else if (delta.type === 'tool_call') addToCall(calls, delta)
    else if (delta.type === 'usage') usage = wireUsage(delta)
    else finish = delta.reason
  }
  const text = pieces.join('')
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls.filter(() => true) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finish }
  const head = replyHead(reply)
  return JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage })
}

function addToCall(calls: WireToolCall[], delta: ChatDelta & { type: 'tool_call' }): void {
  calls[delta.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
  const call = calls[delta.index] as WireToolCall
  if (delta.id !== undefined) call.id = delta.id
  if (delta.name !== undefined) call.function.name = delta.name
  call.function.arguments += delta.arguments ?? ''
}
