import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'
import { readEvents, statusOfError } from '@nodekeep/plugin-sdk/model-servers'
import type { CompletionUsage } from 'openai/resources'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import { ToolCalls } from './tool-calls.ts'

const maxEventBytes = 2 * 1024 * 1024

/** A choice of a chunk. That of a whole reply has a `message` instead of a `delta`. */
type Choice = Partial<ChatCompletionChunk.Choice> & { readonly message?: Delta }

/**
 * A delta, with thoughts. llama.cpp and DeepSeek have the first field, OpenRouter, vLLM and Ollama the second. Mistral has
 * a list of parts as content.
 */
type Delta = Partial<Omit<ChatCompletionChunk.Choice.Delta, 'content'>> & {
  readonly content?: unknown
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

/** The data of an event. Some servers write an error into the reply, vLLM without a field of its own. */
type Data = Omit<ChatCompletionChunk, 'object'> & { readonly object?: string; readonly error?: unknown }

/**
 * Reads a reply. Behind its last event, it reads on for the end of the answer, so that the connection can be used again.
 *
 * @throws Error if the events end without a reason to finish, and the SDK's error for an error within the reply
 */
export async function* readReply({ body, headers }: Response): AsyncGenerator<ChatDelta> {
  const reader = new ReplyReader()
  const events = readEvents(body ?? [], maxEventBytes)
  for await (const { event, data, isWholeBody } of events) {
    if (data === '[DONE]') {
      yield reader.finish()
      // The reply is complete, so a later error changes nothing.
      await events.next().catch(() => {})
      return
    }
    const chunk = JSON.parse(data) as Data | null
    if (isWholeBody && !Array.isArray(chunk?.choices)) throw await refusal(chunk)
    if (event === 'error' || chunk?.error || chunk?.object === 'error') {
      const { APIError } = await import('openai')
      throw new APIError(undefined, (chunk?.error || chunk || {}) as object, undefined, headers)
    }
    // `yield*` would wait for each delta twice.
    for (const delta of reader.read(chunk)) yield delta
  }
  // Some servers leave out the last event.
  yield reader.finish()
}

/**
 * Reads the chunks of one reply (OpenAI's API reference, "The chat completion chunk object"). Other servers leave out or
 * add fields.
 */
class ReplyReader {
  readonly #calls = new ToolCalls()
  #reason: string | undefined
  #refuses = false
  #told = ''

  /**
   * Returns at least one piece: an empty text for a chunk that adds nothing.
   *
   * @throws Error if the chunk is malformed
   */
  read(chunk: Data | null): ChatDelta[] {
    const deltas: ChatDelta[] = []
    const choice: Choice | undefined = chunk?.choices?.[0]
    if (choice !== undefined) {
      const said: Delta = choice.delta ?? choice.message ?? {}
      const { content, refusal, tool_calls: calls, reasoning_content, reasoning } = said
      const thought = reasoning_content || reasoning
      if (thought) deltas.push({ type: 'reasoning', text: typeof thought === 'string' ? thought : '' })
      if (Array.isArray(content)) deltas.push(...content.flatMap(partOf))
      else if (content) deltas.push(textOf(content))
      if (refusal) {
        this.#refuses = true
        deltas.push(textOf(refusal))
      }
      for (const call of calls ?? []) deltas.push(this.#calls.read(call))
      this.#reason = choice.finish_reason || this.#reason
    }
    // The usage comes in the last chunk, in a chunk after it, or in every chunk.
    const usage = readUsage(chunk?.usage)
    if (usage !== null && `${usage.inputTokens} ${usage.outputTokens}` !== this.#told) {
      this.#told = `${usage.inputTokens} ${usage.outputTokens}`
      deltas.push(usage)
    }
    return deltas.length > 0 ? deltas : [nothing]
  }

  /** @throws Error if the chunks ended before the reply, as those of a cut connection may */
  finish(): ChatDelta {
    // OpenRouter's reason for a reply that failed.
    if (!this.#reason || this.#reason === 'error') {
      throw new Error('The reply ended without a reason to finish.')
    }
    const reason = finishReason(this.#reason, this.#calls.count > 0)
    // A refusal is not the requested content, such as JSON of a schema.
    return { type: 'finish', reason: reason === 'stop' && this.#refuses ? 'content_filter' : reason }
  }
}

const nothing: ChatDelta = { type: 'text', text: '' }

function textOf(text: unknown): ChatDelta {
  if (typeof text !== 'string') throw new Error('A text of the reply is not a string.')
  return { type: 'text', text }
}

/** Reads a part of a content: text, or thoughts in a list of parts of their own. Other parts add nothing. */
function partOf(part: unknown): ChatDelta[] {
  const { type, text } = Object(part) as { readonly type?: unknown; readonly text?: unknown }
  if (type === 'text') return [textOf(text)]
  return type === 'thinking' || type === 'reasoning' ? [{ type: 'reasoning', text: thoughtOf(part) }] : []
}

/** Reads the text of thoughts, or of their parts. */
function thoughtOf(part: unknown): string {
  const { thinking, summary, text = '' } = Object(part) as Readonly<Record<string, unknown>>
  const said = thinking ?? summary ?? text
  return Array.isArray(said) ? said.map(thoughtOf).join('') : String(said)
}

/**
 * Makes the SDK's error of an answer that has an error in spite of the status of a success, such as LM Studio's. Without a
 * status of its own, it is about the request.
 */
export async function refusal(answer: unknown): Promise<Error> {
  const { APIError } = await import('openai')
  const error = Object(answer).error || answer
  return new APIError(statusOfError(error), error, undefined, new Headers())
}

/** A reply that had to call a tool ends with `stop`. Other servers have further reasons. */
function finishReason(reason: string, hasCalls: boolean): ChatFinishReason {
  const known = reasons[reason] ?? 'stop'
  return known === 'stop' && hasCalls ? 'tool_calls' : known
}

/** Reads the tokens of a chunk, or returns `null` if it has no valid count, like most chunks. */
function readUsage(usage: CompletionUsage | null | undefined): Extract<ChatDelta, { type: 'usage' }> | null {
  if (usage === undefined || usage === null) return null
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage
  const counted = [inputTokens, outputTokens].every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)
  return counted ? { type: 'usage', inputTokens, outputTokens } : null
}
