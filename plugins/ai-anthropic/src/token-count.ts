import type Anthropic from '@anthropic-ai/sdk'
import type { ChatDelta } from '@nodekeep/plugin-sdk'

type Counts = Partial<Anthropic.Usage | Anthropic.MessageDeltaUsage>

const counted = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
] as const

/**
 * The tokens of a reply. `message_start` tells those of the prompt, and each `message_delta` the totals so far; a total
 * that it leaves out stays. What was written to the cache or read from it is no part of `input_tokens`, but of the input.
 */
export class TokenCount {
  readonly #totals = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  }

  /** Returns the tokens so far, and nothing while none are told: gateways that don't count leave them out, or say 0. */
  add(usage: Counts | null | undefined): ChatDelta[] {
    for (const kind of counted) {
      const tokens = usage?.[kind]
      if (isCount(tokens)) this.#totals[kind] = tokens
    }
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = this.#totals
    const input = input_tokens + cache_creation_input_tokens + cache_read_input_tokens
    if (input === 0 && output_tokens === 0) return []
    const inputTokens = Math.min(input, Number.MAX_SAFE_INTEGER)
    return [{ type: 'usage', inputTokens, outputTokens: output_tokens }]
  }
}

function isCount(tokens: number | null | undefined): tokens is number {
  return Number.isSafeInteger(tokens) && Number(tokens) >= 0
}
