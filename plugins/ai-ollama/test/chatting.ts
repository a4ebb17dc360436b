import {
  type AiProvider,
  type ChatDelta,
  type ChatMessage,
  type ChatRequest,
  isNodekeepError,
  type NodekeepError,
} from '@nodekeep/plugin-sdk'

export const question: ChatMessage = { role: 'user', content: 'What is the capital of Peru?' }

/** Chats to the end. */
export async function chat(provider: AiProvider, request: Partial<ChatRequest> = {}): Promise<ChatDelta[]> {
  const whole = { model: 'llama3.2:latest', messages: [question], ...request }
  return Array.fromAsync(provider.chat(whole, new AbortController().signal))
}

/** Chats, and expects an error. */
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

/** The text of a reply. */
export function textOf(deltas: readonly ChatDelta[]): string {
  return deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')
}
