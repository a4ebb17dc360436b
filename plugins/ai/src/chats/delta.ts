import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'

type ToolCallDelta = Extract<ChatDelta, { type: 'tool_call' }>

const finishReasons: ReadonlySet<ChatFinishReason> = new Set([
  'stop',
  'length',
  'tool_calls',
  'content_filter',
])

/** Tool calls of one reply. Clients store them in an array, up to the highest index. */
const maxToolCalls = 1000

/**
 * Tells whether a piece has the form that the contract requires. A malformed piece ends the chat, so no client gets a
 * malformed answer from a faulty provider.
 *
 * @param calls the indexes of the tool calls that have begun in this reply; a new one is added
 */
export function isWellFormed(delta: ChatDelta, calls: Set<number>): boolean {
  switch (delta.type) {
    case 'text':
    case 'reasoning':
      return typeof delta.text === 'string'
    case 'usage':
      return isCount(delta.inputTokens) && isCount(delta.outputTokens)
    case 'finish':
      return finishReasons.has(delta.reason)
    case 'tool_call':
      return isToolCall(delta, calls)
    default:
      return false
  }
}

/** Returns how much the model wrote in a piece, in bytes of UTF-8. */
export function bytesOf(delta: Exclude<ChatDelta, { type: 'usage' | 'finish' }>): number {
  if (delta.type !== 'tool_call') return Buffer.byteLength(delta.text)
  const { id = '', name = '', arguments: text = '' } = delta
  return Buffer.byteLength(id + name + text)
}

/** The first piece of a call needs id and name: without them, no client could answer the call. */
function isToolCall({ index, id, name, arguments: text }: ToolCallDelta, calls: Set<number>): boolean {
  if (!isCount(index) || index >= maxToolCalls) return false
  if (![id, name, text].every((part) => part === undefined || typeof part === 'string')) return false
  if (calls.has(index)) return true
  calls.add(index)
  return Boolean(id && name)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
