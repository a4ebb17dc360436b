import { randomUUID } from 'node:crypto'
import type { ChatReply } from '@nodekeep/plugin-sdk'

/** What every object of one reply repeats. */
export interface ReplyHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  /** Who really replies, as `provider/model`: it may be another than was asked. */
  readonly model: string
}

export function replyHead({ provider, model }: Pick<ChatReply, 'provider' | 'model'>): ReplyHead {
  const id = `chatcmpl-${randomUUID().replaceAll('-', '')}`
  return { id, created: Math.floor(Date.now() / 1000), model: `${provider}/${model}` }
}

/** Tokens as the wire counts them. A sum that is no safe integer any more stays at the greatest one. */
export function wireUsage({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: Math.min(inputTokens + outputTokens, Number.MAX_SAFE_INTEGER),
  }
}
