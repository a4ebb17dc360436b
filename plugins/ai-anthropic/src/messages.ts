import type Anthropic from '@anthropic-ai/sdk'
import { type ChatMessage, type ChatPart, type ChatToolCall, NodekeepError } from '@nodekeep/plugin-sdk'

/** A conversation in the form of the API, where system messages are separate. */
interface Conversation {
  readonly system: Anthropic.TextBlockParam[]
  readonly messages: Anthropic.MessageParam[]
}

/**
 * Converts a conversation into the form of the API. System messages become `system`, wherever they stand. Consecutive
 * tool results become one message of the user, as the API requires. Empty texts are left out because the API refuses them.
 *
 * @throws NodekeepError VALIDATION_ERROR for an image that cannot be sent
 */
export function conversation(messages: readonly ChatMessage[]): Conversation {
  const system: Anthropic.TextBlockParam[] = []
  const turns: Anthropic.MessageParam[] = []
  let results: Anthropic.ContentBlockParam[] | null = null
  for (const message of messages) {
    if (message.role !== 'tool') results = null
    switch (message.role) {
      case 'system':
        system.push(...systemBlocks(message.content))
        break
      case 'user':
        turns.push({ role: 'user', content: userContent(message.content) })
        break
      case 'assistant':
        turns.push(...assistantTurns(message))
        break
      case 'tool':
        if (results === null) {
          results = []
          turns.push({ role: 'user', content: results })
        }
        results.push({ type: 'tool_result', tool_use_id: message.toolCallId, content: message.content })
    }
  }
  return { system, messages: turns }
}

function systemBlocks(content: string | readonly ChatPart[]): Anthropic.TextBlockParam[] {
  return parts(content).flatMap((part) => {
    if (part.type === 'text') return textBlocks(part.text)
    throw new NodekeepError('VALIDATION_ERROR', 'A system message can only be text for this provider.')
  })
}

function userContent(content: string | readonly ChatPart[]): Anthropic.MessageContentParam {
  if (typeof content === 'string') return content
  return content.flatMap((part): Anthropic.ContentBlockParam[] =>
    part.type === 'text' ? textBlocks(part.text) : [imageBlock(part.url)],
  )
}

/** Returns no message if the model said nothing: the API refuses empty messages. */
function assistantTurns({
  content,
  toolCalls = [],
}: Extract<ChatMessage, { role: 'assistant' }>): Anthropic.MessageParam[] {
  const blocks = [...textBlocks(content), ...toolCalls.map(toolUse)]
  return blocks.length === 0 ? [] : [{ role: 'assistant', content: blocks }]
}

function toolUse({ id, name, arguments: text }: ChatToolCall): Anthropic.ToolUseBlockParam {
  return { type: 'tool_use', id, name, input: toolInput(text) }
}

/**
 * Parses the arguments of a call. The API requires an object, so other text is wrapped in one for the model to see, as
 * Anthropic's page on fine-grained tool streaming proposes.
 */
function toolInput(text: string): object {
  if (text.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(text)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  } catch {
    // Wrapped below, like any value that is no object.
  }
  return { INVALID_JSON: text }
}

function textBlocks(text: string): Anthropic.TextBlockParam[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function parts(content: string | readonly ChatPart[]): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

type MediaType = Anthropic.Base64ImageSource['media_type']

const mediaTypes: readonly string[] = [
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
] satisfies MediaType[]

/**
 * Converts an image from a `data:` URL (RFC 2397) in base64.
 *
 * @throws NodekeepError VALIDATION_ERROR for another URL or type of image
 */
function imageBlock(url: string): Anthropic.ImageBlockParam {
  const comma = url.indexOf(',')
  const [, mediaType = ''] = /^data:([^;]*)(?:;[^;]*)*;base64$/i.exec(url.slice(0, Math.max(comma, 0))) ?? []
  const media_type = mediaType.toLowerCase()
  if (!isMediaType(media_type)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `An image must be a "data:" URL in base64, of the type ${mediaTypes.join(', ')}.`,
      { permanent: true },
    )
  }
  return { type: 'image', source: { type: 'base64', media_type, data: url.slice(comma + 1) } }
}

function isMediaType(type: string): type is MediaType {
  return mediaTypes.includes(type)
}
