import { type ChatMessage, type ChatPart, NodekeepError } from '@nodekeep/plugin-sdk'
import type { WireMessage, WirePart } from './chat-request.ts'

/**
 * Reads a message of the wire.
 *
 * @param index which one of the request it is, counted from 0
 * @throws NodekeepError VALIDATION_ERROR naming what is wrong, also for an image that isn't in the request itself
 */
export function readMessage(message: WireMessage, index: number): ChatMessage {
  const { role } = message
  const calls = message.tool_calls ?? []
  if (calls.length > 0 && role !== 'assistant') throw wrong(index, `${role} messages have no "tool_calls"`)
  const content = message.content ?? (calls.length > 0 ? '' : null)
  if (content === null) throw wrong(index, '"content" is missing')
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: asText(content, index) }
    case 'user':
      return { role: 'user', content: userContent(content, index) }
    case 'tool': {
      const toolCallId = message.tool_call_id
      if (toolCallId == null) throw wrong(index, '"tool_call_id" is missing')
      return { role: 'tool', toolCallId, content: asText(content, index) }
    }
    case 'assistant': {
      const said = { role, content: asText(content, index) } as const
      if (calls.length === 0) return said
      return {
        ...said,
        toolCalls: calls.map(({ id, function: call }) => ({ id, ...nameAndArguments(call) })),
      }
    }
  }
}

function nameAndArguments({ name, arguments: text }: { readonly name: string; readonly arguments: string }) {
  return { name, arguments: text }
}

function asText(content: string | readonly WirePart[], index: number): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => {
      if (part.type === 'text' && part.text !== undefined) return part.text
      throw wrong(index, 'its parts can only be of the type "text", each with its "text"')
    })
    .join('')
}

function userContent(content: string | readonly WirePart[], index: number): string | ChatPart[] {
  if (typeof content === 'string') return content
  if (content.every(({ type }) => type === 'text')) return asText(content, index)
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: asText([part], index) }
    const url = part.image_url?.url
    if (url === undefined) throw wrong(index, 'an "image_url" is missing')
    if (/^data:image\/[a-z0-9.+-]+;base64,/i.test(url)) return { type: 'image', url }
    throw wrong(
      index,
      'an image has to be in the request itself, as a URL that begins with "data:image/…;base64,", since addresses are not followed',
    )
  })
}

function wrong(index: number, what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `Invalid input: in "messages.${index}", ${what}.`)
}
