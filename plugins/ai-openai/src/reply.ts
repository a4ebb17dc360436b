import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import { ToolCalls } from './tool-calls.ts'
import { readUsage } from './usage.ts'

type Choice = Partial<ChatCompletionChunk.Choice>

/** With what llama.cpp, vLLM and DeepSeek, or OpenRouter and Ollama, call a model's thoughts. */
type Delta = Partial<ChatCompletionChunk.Choice.Delta> & {
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
}

const reasons: Readonly<Record<string, ChatFinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

/**
 * Reads the chunks of a reply (OpenAI's API reference, "The chat completion chunk object"), in which other servers leave
 * out and add what they like.
 *
 * @throws Error when the chunks end before the reply does: the SDK ends its loop silently then
 */
export async function* readReply(chunks: AsyncIterable<ChatCompletionChunk>): AsyncGenerator<ChatDelta> {
  const calls = new ToolCalls()
  let reason: string | undefined
  let told = ''
  for await (const chunk of chunks) {
    const choice: Choice | undefined = chunk?.choices?.[0]
    if (choice !== undefined) {
      const { content, refusal, tool_calls: pieces, reasoning_content, reasoning }: Delta = choice.delta ?? {}
      // Thoughts are not part of the reply, but show that the model is at work.
      if (reasoning_content || reasoning) yield { type: 'text', text: '' }
      for (const text of [content, refusal]) {
        if (text === undefined || text === null || text === '') continue
        if (typeof text !== 'string') throw new Error('A text of the reply is no text.')
        yield { type: 'text', text }
      }
      for (const piece of pieces ?? []) yield calls.read(piece)
      reason = choice.finish_reason ?? reason
    }
    // It comes in the last chunk, in one after it, or in each.
    const usage = readUsage(chunk?.usage)
    if (usage === null || `${usage.inputTokens} ${usage.outputTokens}` === told) continue
    told = `${usage.inputTokens} ${usage.outputTokens}`
    yield usage
  }
  // OpenRouter's reason for a reply that failed.
  if (!reason || reason === 'error') throw new Error('The reply ended without a reason to finish.')
  yield { type: 'finish', reason: finishReason(reason, calls.count > 0) }
}

/** A reply that was made to call a tool ends with `stop`; other servers have reasons of their own. */
function finishReason(reason: string, hasCalls: boolean): ChatFinishReason {
  const known = reasons[reason] ?? 'stop'
  return known === 'stop' && hasCalls ? 'tool_calls' : known
}
