import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'

const reasons: ReadonlySet<unknown> = new Set<ChatFinishReason>([
  'stop',
  'length',
  'tool_calls',
  'content_filter',
])

/** Tool calls of one reply. Whoever gathers them keeps a place for each up to the highest index. */
const mostCalls = 1000

/**
 * Reads what a provider yielded. The piece is a new one, of values that were looked at once: the provider's own object
 * may say something else each time.
 *
 * @returns `null` for what is no piece of a reply
 * @throws what the provider's object throws when it is looked at
 */
export function readDelta(value: unknown): ChatDelta | null {
  if (typeof value !== 'object' || value === null) return null
  const delta = value as Partial<Record<string, unknown>>
  const { type } = delta
  switch (type) {
    case 'text':
    case 'reasoning': {
      const { text } = delta
      return typeof text === 'string' ? { type, text } : null
    }
    case 'usage': {
      const { inputTokens, outputTokens } = delta
      return isCount(inputTokens) && isCount(outputTokens) ? { type, inputTokens, outputTokens } : null
    }
    case 'finish': {
      const { reason } = delta
      return isReason(reason) ? { type, reason } : null
    }
    case 'tool_call':
      return readToolCall(delta)
    default:
      return null
  }
}

/** What the model wrote in a piece, in bytes of UTF-8. */
export function bytesOfDelta(delta: Exclude<ChatDelta, { type: 'usage' | 'finish' }>): number {
  if (delta.type === 'text' || delta.type === 'reasoning') return Buffer.byteLength(delta.text)
  const { id = '', name = '', arguments: text = '' } = delta
  return Buffer.byteLength(id + name + text)
}

function readToolCall(delta: Partial<Record<string, unknown>>): ChatDelta | null {
  const { index, id, name, arguments: text } = delta
  if (!isCount(index) || index >= mostCalls || !isText(id) || !isText(name) || !isText(text)) return null
  return {
    type: 'tool_call',
    index,
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(text === undefined ? {} : { arguments: text }),
  }
}

function isReason(value: unknown): value is ChatFinishReason {
  return reasons.has(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}
