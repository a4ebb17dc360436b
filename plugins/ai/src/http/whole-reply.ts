import { type ChatReply, GatheredText, type Static } from '@nodekeep/plugin-sdk'
import type { chatAnswer } from './chat-schema.ts'

/** Gathers a reply into one answer. */
export async function wholeReply({ provider, model, deltas }: ChatReply): Promise<Static<typeof chatAnswer>> {
  const text = new GatheredText()
  let usage: { inputTokens: number; outputTokens: number } | null = null
  let finishReason = 'stop'
  for await (const delta of deltas) {
    if (delta.type === 'text') text.add(delta.text)
    else if (delta.type === 'usage') usage = delta
    else if (delta.type === 'finish') finishReason = delta.reason
  }
  return { message: { role: 'assistant', content: text.toString() }, provider, model, finishReason, usage }
}
