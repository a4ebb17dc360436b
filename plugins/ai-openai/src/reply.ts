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
 * Reads the chunks of one reply (OpenAI's API reference, "The chat completion chunk object"), in which other servers
 * leave out and add what they like.
 */
export class ReplyReader {
  readonly #calls = new ToolCalls()
  #reason: string | undefined
  #refuses = false
  #told = ''

  /** @throws Error when the chunk makes no sense */
  read(chunk: ChatCompletionChunk): ChatDelta[] {
    const deltas: ChatDelta[] = []
    const choice: Choice | undefined = chunk?.choices?.[0]
    if (choice !== undefined) {
      const { content, refusal, tool_calls: calls, reasoning_content, reasoning }: Delta = choice.delta ?? {}
      const thought = reasoning_content || reasoning
      if (thought) deltas.push({ type: 'reasoning', text: typeof thought === 'string' ? thought : '' })
      if (content) deltas.push(textOf(content))
      if (refusal) {
        this.#refuses = true
        deltas.push(textOf(refusal))
      }
      for (const call of calls ?? []) deltas.push(this.#calls.read(call))
      this.#reason = choice.finish_reason ?? this.#reason
    }
    // It comes in the last chunk, in one after it, or in each.
    const usage = readUsage(chunk?.usage)
    if (usage !== null && `${usage.inputTokens} ${usage.outputTokens}` !== this.#told) {
      this.#told = `${usage.inputTokens} ${usage.outputTokens}`
      deltas.push(usage)
    }
    return deltas
  }

  /** @throws Error when the chunks ended before the reply did: the SDK ends its loop silently then */
  finish(): ChatDelta {
    // OpenRouter's reason for a reply that failed.
    if (!this.#reason || this.#reason === 'error') {
      throw new Error('The reply ended without a reason to finish.')
    }
    const reason = finishReason(this.#reason, this.#calls.count > 0)
    // The words of a refusal are not what was asked for, such as JSON of a schema.
    return { type: 'finish', reason: reason === 'stop' && this.#refuses ? 'content_filter' : reason }
  }
}

function textOf(text: unknown): ChatDelta {
  if (typeof text !== 'string') throw new Error('A text of the reply is no text.')
  return { type: 'text', text }
}

/** A reply that was made to call a tool ends with `stop`; other servers have reasons of their own. */
function finishReason(reason: string, hasCalls: boolean): ChatFinishReason {
  const known = reasons[reason] ?? 'stop'
  return known === 'stop' && hasCalls ? 'tool_calls' : known
}
