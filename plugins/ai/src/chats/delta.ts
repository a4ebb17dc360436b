import type { ChatDelta } from '@nodekeep/plugin-sdk'

const reasons: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls', 'content_filter'])

/** Tool calls of one reply. Whoever gathers them keeps a place for each up to the highest index. */
const mostCalls = 1000

/** Whether a provider yielded what the contract says. */
export function isDelta(value: unknown): value is ChatDelta {
  if (typeof value !== 'object' || value === null) return false
  const delta = value as Partial<Record<string, unknown>>
  switch (delta.type) {
    case 'text':
      return typeof delta.text === 'string'
    case 'usage':
      return isCount(delta.inputTokens) && isCount(delta.outputTokens)
    case 'finish':
      return reasons.has(delta.reason)
    case 'tool_call':
      return isIndex(delta.index) && isText(delta.id) && isText(delta.name) && isText(delta.arguments)
    default:
      return false
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isIndex(value: unknown): boolean {
  return isCount(value) && Number(value) < mostCalls
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}
