import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'
import { readEvents } from '@nodekeep/plugin-sdk/model-servers'
import type { CompletionUsage } from 'openai/resources'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'

const maxEventBytes = 2 * 1024 * 1024

type Choice = Partial<ChatCompletionChunk.Choice>

/** A delta with thoughts. llama.cpp, vLLM and DeepSeek have the first field, OpenRouter and Ollama the second. */
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

/** The data of an event. Some servers write an error into the reply. */
type Data = ChatCompletionChunk & { readonly error?: unknown }

/**
 * Reads a reply. Behind its last event, it reads on for the end of the answer, so that the connection can be used again.
 *
 * @throws Error if the events end without a reason to finish, and the SDK's error for an error within the reply
 */
export async function* readReply({ body, headers }: Response): AsyncGenerator<ChatDelta> {
  const reader = new ReplyReader()
  const events = readEvents(body ?? [], maxEventBytes)
  for await (const { event, data } of events) {
    if (data === '[DONE]') {
      yield reader.finish()
      // The reply is complete, so a later error changes nothing.
      await events.next().catch(() => {})
      return
    }
    const chunk = JSON.parse(data) as Data | null
    if (event === 'error' || chunk?.error) {
      const { APIError } = await import('openai')
      throw new APIError(undefined, (chunk?.error ?? chunk ?? {}) as object, undefined, headers)
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
  read(chunk: ChatCompletionChunk | null): ChatDelta[] {
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

type CallPiece = Partial<ChatCompletionChunk.Choice.Delta.ToolCall>
/** The limit of the contract. */
const maxCalls = 1000

type ToolCallDelta = Extract<ChatDelta, { type: 'tool_call' }>

/**
 * Assigns the pieces of tool calls to their calls. In OpenAI's form, a call has an index, and its first piece has id and
 * name. Other servers leave out the index or the id, use index 0 for all calls, or repeat id and name.
 */
class ToolCalls {
  readonly #calls: { readonly index: unknown; readonly id: string }[] = []

  /** The number of calls that have begun. */
  get count(): number {
    return this.#calls.length
  }

  /** @throws Error if a call has no name, or there are too many calls */
  read(piece: CallPiece): ToolCallDelta {
    const { index, id = '', function: { name, arguments: text } = {} } = piece
    const known = this.#calls.findLastIndex(
      (call) => (index === undefined || call.index === index) && (!id || call.id === id),
    )
    const args = text ? { arguments: typeof text === 'string' ? text : JSON.stringify(text) } : {}
    if (known >= 0) return { type: 'tool_call', index: known, ...args }
    if (typeof name !== 'string' || name === '') throw new Error('A tool call of the reply has no name.')
    if (this.count >= maxCalls) throw new Error(`The reply has more than ${maxCalls} tool calls.`)
    const call = { index, id: id || `call_${this.count}` }
    this.#calls.push(call)
    return { type: 'tool_call', index: this.count - 1, id: call.id, name, ...args }
  }
}
