import {
  type AiProvider,
  type ChatDelta,
  type ChatMessage,
  type ChatRequest,
  isNodekeepError,
  type NodekeepError,
} from '@nodekeep/plugin-sdk'

export const question: ChatMessage = { role: 'user', content: 'What is the capital of Peru?' }

/** Reads a whole reply. */
export async function chat(provider: AiProvider, request: Partial<ChatRequest> = {}): Promise<ChatDelta[]> {
  const whole = { model: 'claude-opus-5-5', messages: [question], ...request }
  return Array.fromAsync(provider.chat(whole, new AbortController().signal))
}

/** Returns the error of a chat. */
export async function chatError(
  provider: AiProvider,
  request: Partial<ChatRequest> = {},
): Promise<NodekeepError> {
  const thrown = await chat(provider, request).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!isNodekeepError(thrown)) throw new Error(`The chat ended with ${thrown}`)
  return thrown
}

/** Returns the text of a reply. */
export function textOf(deltas: readonly ChatDelta[]): string {
  return deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')
}
