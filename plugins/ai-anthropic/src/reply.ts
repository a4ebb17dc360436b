import type Anthropic from '@anthropic-ai/sdk'
import type { ChatDelta, ChatFinishReason } from '@nodekeep/plugin-sdk'
import { readEvents } from '@nodekeep/plugin-sdk/model-servers'
import { isErrorType } from './failure.ts'

const maxEventBytes = 4 * 1024 * 1024

const finishReasons: Readonly<Record<Anthropic.StopReason, ChatFinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** An event of a reply. The SDK has no types for a ping and an error. */
type ReplyEvent = Anthropic.RawMessageStreamEvent | { readonly type: 'ping' } | ErrorEvent

interface ErrorEvent {
  readonly type: 'error'
  readonly error?: { readonly type?: Anthropic.ErrorType }
}

/**
 * Reads a reply (Anthropic's page "Streaming messages"). An event that adds nothing, such as an unknown one, becomes an
 * empty text. Behind the last event, it reads on for the end of the answer, so that the connection can be used again.
 *
 * @throws Error if the events end before `message_stop`, and the SDK's error for an error event
 */
export async function* readReply({ body, headers }: Response): AsyncGenerator<ChatDelta> {
  const reader = new ReplyReader()
  const events = readEvents(body ?? [], maxEventBytes)
  for await (const { data, isWholeBody } of events) {
    const event = JSON.parse(data) as ReplyEvent | Anthropic.Message
    if (isWholeBody && event.type === 'message') {
      for (const part of eventsOf(event)) yield* reader.read(part)
      return
    }
    if (event.type === 'error' || isWholeBody) {
      const { APIError } = await import('@anthropic-ai/sdk')
      const type = (event as ErrorEvent).error?.type
      // A gateway that sends no reply refuses the request.
      throw new APIError(isWholeBody && !isErrorType(type) ? 400 : undefined, event, undefined, headers, type)
    }
    for (const delta of reader.read(event as ReplyEvent)) yield delta
    if (event.type === 'message_stop') {
      // The reply is complete, so a later error changes nothing.
      await events.next().catch(() => {})
      return
    }
  }
  throw new Error('The reply ended without "message_stop".')
}

/** Returns the events of a whole message, with which some gateways answer the request for a stream. */
function* eventsOf(message: Anthropic.Message): Iterable<ReplyEvent> {
  yield { type: 'message_start', message }
  for (const [index, content_block] of message.content.entries()) {
    yield { type: 'content_block_start', index, content_block }
    yield { type: 'content_block_stop', index }
  }
  const { stop_reason, stop_sequence } = message
  // The usage of the message is complete.
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: {} } as ReplyEvent
  yield { type: 'message_stop' }
}

/** Reads the events of one reply. Returns at least one piece for each. */
class ReplyReader {
  readonly #tokens = new TokenCount()
  readonly #calls = new ToolCalls()
  #reason: ChatFinishReason = 'stop'
  #hasStarted = false

  read(event: ReplyEvent): ChatDelta[] {
    const deltas = [...this.#meaning(event)]
    return deltas.length > 0 ? deltas : [{ type: 'text', text: '' }]
  }

  #meaning(event: ReplyEvent): Iterable<ChatDelta> {
    switch (event.type) {
      case 'message_start':
        this.#hasStarted = true
        return this.#tokens.add(event.message.usage)
      case 'ping':
        // Earlier pings come from a proxy, not from the model.
        return this.#hasStarted ? [{ type: 'reasoning', text: '' }] : []
      case 'content_block_start':
        return readStart(event, this.#calls)
      case 'content_block_delta':
        return readDelta(event, this.#calls)
      case 'content_block_stop':
        return this.#calls.end(event.index)
      case 'message_delta':
        this.#reason = finishReasons[event.delta.stop_reason ?? 'end_turn'] ?? 'stop'
        return this.#tokens.add(event.usage)
      case 'message_stop':
        return [{ type: 'finish', reason: this.#reason }]
      default:
        return []
    }
  }
}

/**
 * Reads the start of a block. Some gateways send the whole content here. Hidden thoughts may have nothing but a start.
 */
function* readStart(
  { index, content_block: block }: Anthropic.RawContentBlockStartEvent,
  calls: ToolCalls,
): Iterable<ChatDelta> {
  if (block.type === 'tool_use') yield calls.begin(index, block)
  else if (block.type === 'thinking') yield { type: 'reasoning', text: block.thinking ?? '' }
  else if (block.type === 'redacted_thinking') yield { type: 'reasoning', text: '' }
  else if (block.type === 'text' && block.text) yield { type: 'text', text: block.text }
}

function* readDelta(
  { index, delta }: Anthropic.RawContentBlockDeltaEvent,
  calls: ToolCalls,
): Iterable<ChatDelta> {
  if (delta.type === 'text_delta') yield { type: 'text', text: delta.text }
  else if (delta.type === 'input_json_delta') yield* calls.append(index, delta.partial_json)
  else if (delta.type === 'thinking_delta') yield { type: 'reasoning', text: delta.thinking }
  else if (delta.type === 'signature_delta') yield { type: 'reasoning', text: '' }
}

type Counts = Partial<Anthropic.Usage | Anthropic.MessageDeltaUsage>

const counted = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
] as const

/**
 * The tokens of a reply. `message_start` has those of the prompt, and each `message_delta` the totals up to now; a missing
 * total is unchanged. Tokens written to the cache or read from it are input, but not part of `input_tokens`.
 */
class TokenCount {
  readonly #totals = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  }

  /** Returns the tokens up to now, or nothing while they are unknown: some gateways leave them out or send 0. */
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

/** A call that has begun. `input` has its arguments until the first text of them comes. */
interface Call {
  readonly index: number
  input: unknown
}

/** The tool calls of a reply, by the index of their block. */
class ToolCalls {
  readonly #calls = new Map<number, Call>()

  begin(block: number, { id, name, input }: Anthropic.ToolUseBlock): ChatDelta {
    const index = this.#calls.size
    this.#calls.set(block, { index, input: input || {} })
    return { type: 'tool_call', index, id, name }
  }

  *append(block: number, text: string): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call === undefined || text === '') return
    call.input = undefined
    yield { type: 'tool_call', index: call.index, arguments: text }
  }

  /** If no text came, the arguments are the `input` of the block's start: empty, or complete from some gateways. */
  *end(block: number): Iterable<ChatDelta> {
    const call = this.#calls.get(block)
    if (call?.input === undefined) return
    yield { type: 'tool_call', index: call.index, arguments: JSON.stringify(call.input) }
  }
}
