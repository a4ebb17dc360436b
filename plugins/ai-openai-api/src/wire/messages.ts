import { type ChatMessage, type ChatPart, NodekeepError } from '@nodekeep/plugin-sdk'
import type { WireMessage, WirePart } from './chat-body.ts'

/**
 * Converts a message.
 *
 * @param index its index in the request, for error messages
 * @throws NodekeepError VALIDATION_ERROR for a malformed message, and for an image by address
 */
export function readMessage(message: WireMessage, index: number): ChatMessage {
  const { role } = message
  const calls = message.tool_calls ?? []
  if (calls.length > 0 && role !== 'assistant') throw wrong(index, `${role} messages have no "tool_calls"`)
  if (role === 'assistant') return assistantMessage(message, index)
  const { content } = message
  if (content == null) throw wrong(index, '"content" is missing')
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: contentOf(content, (part) => textPart(part, index)) }
    case 'user':
      return { role: 'user', content: contentOf(content, (part) => userPart(part, index)) }
    case 'tool': {
      const toolCallId = message.tool_call_id
      if (toolCallId == null) throw wrong(index, '"tool_call_id" is missing')
      return { role: 'tool', toolCallId, content: textsIn(content, index).join('\n') }
    }
  }
}

/** Converts a message of the model. Clients send it back with all of its fields. */
function assistantMessage(message: WireMessage, index: number): ChatMessage {
  const { content, refusal, tool_calls, function_call: oldCall, audio } = message
  if (oldCall != null) throw wrong(index, 'a "function_call" has to be written as "tool_calls"')
  if (audio != null) throw wrong(index, '"audio" is not supported: send what was said as "content"')
  // A reply without text has null here. A missing field is an error of the client.
  if (content === undefined && refusal == null && tool_calls == null) {
    throw wrong(index, '"content" is missing')
  }
  const texts = [...textsIn(content ?? '', index, 'refusal'), refusal ?? '']
  const text = texts.filter((said) => said !== '').join('\n')
  if (tool_calls == null || tool_calls.length === 0) return { role: 'assistant', content: text }
  const toolCalls = tool_calls.map(({ id, function: call }) => ({
    id,
    name: call.name,
    arguments: call.arguments,
  }))
  return { role: 'assistant', content: text, toolCalls }
}

/** @param also a further type of parts that is allowed */
function textsIn(content: string | readonly WirePart[], index: number, also?: 'refusal'): string[] {
  return typeof content === 'string' ? [content] : content.map((part) => textOf(part, index, also))
}

function textOf({ type, text, refusal }: WirePart, index: number, also?: 'refusal'): string {
  if (type === 'text' && text !== undefined) return text
  if (type === also && refusal !== undefined) return refusal
  throw wrong(index, 'its parts can only be of the type "text", each with its "text"')
}

/** Several parts stay separate: the provider decides how to join texts. */
function contentOf(
  content: string | readonly WirePart[],
  read: (part: WirePart) => ChatPart,
): string | ChatPart[] {
  if (typeof content === 'string') return content
  const [first = { type: 'text', text: '' }, ...others] = content.map(read)
  return first.type === 'text' && others.length === 0 ? first.text : [first, ...others]
}

function userPart(part: WirePart, index: number): ChatPart {
  return part.type === 'image_url' ? imagePart(part, index) : textPart(part, index)
}

function textPart(part: WirePart, index: number): ChatPart {
  return { type: 'text', text: textOf(part, index) }
}

function imagePart({ image_url: image }: WirePart, index: number): ChatPart {
  if (image === undefined) throw wrong(index, 'an "image_url" is missing')
  const { url, detail } = image
  if (/^data:image\/[a-z0-9.+-]+;base64,/i.test(url)) {
    return { type: 'image', url, ...(detail == null ? {} : { detail }) }
  }
  throw wrong(
    index,
    'an image has to be in the request itself, as a URL that begins with "data:image/…;base64,", since addresses are not followed',
  )
}

function wrong(index: number, what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `Invalid input: in "messages.${index}", ${what}.`)
}
