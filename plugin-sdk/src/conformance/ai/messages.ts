import assert from 'node:assert/strict'
import type { ChatMessage, ChatPart, ChatToolCall } from '../../contracts/ai.ts'

/**
 * Compares messages by their meaning. Protocols differ in form: text and images may be separate, an image may have no
 * type, and arguments of calls are text or a value.
 */
export function assertMessages(received: readonly ChatMessage[], sent: readonly ChatMessage[]): void {
  assert.deepEqual(received.map(meaning), sent.map(meaning), 'the messages arrive as they were sent')
  const belongs = answers(sent)
  for (const [index, call] of answers(received).entries()) {
    if (call !== null) assert.equal(call, belongs[index], 'a tool result names its call')
  }
}

function meaning(message: ChatMessage): object {
  const { role } = message
  if (role === 'tool') return { role, text: message.content }
  if (role === 'assistant') {
    return { role, text: message.content, calls: (message.toolCalls ?? []).map(callMeaning) }
  }
  const parts: readonly ChatPart[] =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  return {
    role,
    text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    images: parts.flatMap((part) => (part.type === 'image' ? [part.url.replace(/^data:[^,]*,/, '')] : [])),
  }
}

function callMeaning({ name, arguments: text }: ChatToolCall): object {
  return { name, arguments: JSON.parse(text) as unknown }
}

/** Returns for each tool result the index of its call, or `null` if the protocol has no ids. */
function answers(messages: readonly ChatMessage[]): (number | null)[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return []
    return [message.toolCallId === '' ? null : calls.findIndex(({ id }) => id === message.toolCallId)]
  })
}
