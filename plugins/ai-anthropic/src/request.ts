import type Anthropic from '@anthropic-ai/sdk'
import type { ChatRequest } from '@nodekeep/plugin-sdk'
import { conversation } from './messages.ts'
import { outputConfig } from './output-config.ts'
import { toolParams } from './tools.ts'

/**
 * The longest reply when a request doesn't say, in tokens: the API wants a number. Thinking counts, too; every model of
 * the API's current version can write more than this.
 */
export const defaultMaxTokens = 16384

/**
 * A request in the words of the Messages API (version 2026-10-21). `temperature` and `topP` are left out: since that
 * version the API refuses them whatever their value. It has no words for penalties, a seed, and details of images.
 *
 * @throws NodekeepError VALIDATION_ERROR for what the API has no words for
 */
export async function messageParams(request: ChatRequest): Promise<Anthropic.MessageCreateParamsStreaming> {
  const { model, maxTokens = defaultMaxTokens, stop } = request
  const { system, messages } = conversation(request.messages)
  const output = await outputConfig(request)
  return {
    model,
    max_tokens: maxTokens,
    messages,
    stream: true,
    ...(system.length > 0 && { system }),
    ...(stop?.length && { stop_sequences: [...stop] }),
    ...(await toolParams(request)),
    ...(output && { output_config: output }),
  }
}
