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

  add(usage: Counts | null | undefined): ChatDelta {
    for (const kind of counted) this.#totals[kind] = usage?.[kind] ?? this.#totals[kind]
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = this.#totals
    return {
      type: 'usage',
      inputTokens: Math.min(
        input_tokens + cache_creation_input_tokens + cache_read_input_tokens,
        Number.MAX_SAFE_INTEGER,
      ),
      outputTokens: output_tokens,
    }
  }
}
