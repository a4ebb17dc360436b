import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type { CompletionUsage } from 'openai/resources'

/** Reads the tokens of a chunk; `null` where it counts none, as most chunks of most servers. */
export function readUsage(
  usage: CompletionUsage | null | undefined,
): Extract<ChatDelta, { type: 'usage' }> | null {
  if (usage === undefined || usage === null) return null
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage
  const counted = [inputTokens, outputTokens].every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)
  return counted ? { type: 'usage', inputTokens, outputTokens } : null
}
