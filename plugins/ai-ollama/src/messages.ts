import { type ChatMessage, type ChatToolCall, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Message, ToolCall } from 'ollama/browser'

/** A message of the protocol. The SDK's types lack the ids, which servers have had since version 0.12.10. */
type WireMessage = Message & { readonly tool_call_id?: string }

/**
 * Converts a conversation for Ollama. A message has one text and a list of images, and a tool result names its tool.
 *
 * @throws NodekeepError VALIDATION_ERROR for an image that cannot be sent
 */
export function conversation(messages: readonly ChatMessage[]): WireMessage[] {
  const names = new Map<string, string>()
  return messages.map((message): WireMessage => {
    switch (message.role) {
      case 'tool': {
        const { toolCallId, content } = message
        const name = names.get(toolCallId)
        return {
          role: 'tool',
          content,
          tool_call_id: toolCallId,
          ...(name !== undefined && { tool_name: name }),
        }
      }
      case 'assistant': {
        const { content, toolCalls = [] } = message
        for (const { id, name } of toolCalls) names.set(id, name)
        return {
          role: 'assistant',
          content,
          ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toolCall) }),
        }
      }
      default:
        return spoken(message)
    }
  })
}

function spoken({ role, content }: Extract<ChatMessage, { role: 'system' | 'user' }>): Message {
  if (typeof content === 'string') return { role, content }
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const images = content.flatMap((part) => (part.type === 'image' ? [imageData(part.url)] : []))
  return { role, content: text.join('\n'), ...(images.length > 0 && { images }) }
}

function toolCall({ id, name, arguments: text }: ChatToolCall): ToolCall & { id: string } {
  return { id, function: { name, arguments: argumentsOf(text) } }
}

/** Parses the arguments of a call. Ollama requires an object, so other text is wrapped in one for the model to see. */
function argumentsOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Wrapped below, like any value that is no object.
  }
  return { INVALID_JSON: text }
}

/**
 * Returns the base64 of a `data:` URL (RFC 2397) of an image.
 *
 * @throws NodekeepError VALIDATION_ERROR for another URL
 */
function imageData(url: string): string {
  const comma = url.indexOf(',')
  if (!/^data:image\/[^;]+(;[^;]*)*;base64$/i.test(url.slice(0, Math.max(comma, 0)))) {
    throw new NodekeepError('VALIDATION_ERROR', 'An image must be a "data:" URL in base64.', {
      permanent: true,
    })
  }
  return url.slice(comma + 1)
}
