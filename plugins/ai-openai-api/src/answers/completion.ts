import { randomUUID } from 'node:crypto'
import {
  type ChatFinishReason,
  type ChatReply,
  GatheredText,
  type ReplyDelta,
  Type,
} from '@nodekeep/plugin-sdk'

const count = Type.Integer({ minimum: 0 })

const toolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

/** "The chat completion object" of OpenAI's API reference. */
const chatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer({ description: 'Seconds since 1970.' }),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Type.Union([Type.String(), Type.Null()]),
        refusal: Type.Null(),
        tool_calls: Type.Optional(Type.Array(toolCall)),
      }),
      logprobs: Type.Null(),
      finish_reason: Type.String(),
    }),
  ),
  usage: Type.Optional(Type.Object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })),
})

/** The answers of `POST /chat/completions`, in the OpenAPI document: whole, and with `stream`. */
export const chatAnswer = {
  description:
    'A chat completion. With "stream": true, events with chat.completion.chunk objects, then [DONE].',
  content: {
    'application/json': { schema: chatCompletion },
    'text/event-stream': { schema: Type.String() },
  },
}

/** Gathers a reply into one `chat.completion`. */
export async function completion(reply: ChatReply): Promise<string> {
  const text = new GatheredText()
  const calls: GatheredCall[] = []
  let finish: ChatFinishReason = 'stop'
  let usage: ReturnType<typeof wireUsage> | undefined
  for await (const delta of reply.deltas) {
    if (delta.type === 'text') text.add(delta.text)
    else if (delta.type === 'tool_call') addToCall(calls, delta)
    else if (delta.type === 'usage') usage = wireUsage(delta)
    else finish = delta.reason
  }
  const content = text.toString()
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    // A provider may skip an index.
    ...(calls.length === 0 ? {} : { tool_calls: calls.filter(() => true).map(wireCall) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finish }
  const head = replyHead(reply)
  return JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage })
}

interface GatheredCall {
  id: string
  name: string
  readonly text: GatheredText
}

function addToCall(calls: GatheredCall[], delta: ReplyDelta & { type: 'tool_call' }): void {
  calls[delta.index] ??= { id: '', name: '', text: new GatheredText() }
  const call = calls[delta.index] as GatheredCall
  if (delta.id !== undefined) call.id = delta.id
  if (delta.name !== undefined) call.name = delta.name
  call.text.add(delta.arguments ?? '')
}

function wireCall({ id, name, text }: GatheredCall) {
  return { id, type: 'function', function: { name, arguments: text.toString() } }
}

/** Writes the pieces of a reply as `chat.completion.chunk` objects. */
export class Chunks {
  readonly #head: string
  readonly #includesUsage: boolean

  constructor(reply: ChatReply, includesUsage: boolean) {
    const head = JSON.stringify({ ...replyHead(reply), object: 'chat.completion.chunk' })
    this.#head = head.slice(0, -1)
    this.#includesUsage = includesUsage
  }

  /** The chunk that begins every reply. */
  first(): string {
    return this.#choice('{"role":"assistant","content":""}')
  }

  /** The chunk of a piece, or `null` if it has none. */
  of(delta: ReplyDelta): string | null {
    switch (delta.type) {
      case 'text':
        return this.#choice(`{"content":${JSON.stringify(delta.text)}}`)
      case 'tool_call':
        return this.#choice(JSON.stringify({ tool_calls: [wireToolCall(delta)] }))
      case 'finish':
        return this.#choice('{}', `"${delta.reason}"`)
      case 'usage':
        return null
    }
  }

  /** The chunk with the usage after the last piece, or `null` if the client did not request it. */
  usage(usage: (ReplyDelta & { type: 'usage' }) | null): string | null {
    if (!this.#includesUsage || usage === null) return null
    return `${this.#head},"choices":[],"usage":${JSON.stringify(wireUsage(usage))}}`
  }

  #choice(delta: string, finish = 'null'): string {
    const usage = this.#includesUsage ? ',"usage":null' : ''
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}`
    return `${this.#head},"choices":[${choice}]${usage}}`
  }
}

function wireToolCall({ index, id, name, arguments: text }: ReplyDelta & { type: 'tool_call' }) {
  const call = { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) }
  return { index, ...(id === undefined ? {} : { id, type: 'function' }), function: call }
}

/** The fields that all objects of a reply have. */
interface ReplyHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  /** The model that replies, as `provider/model`. It may be a fallback. */
  readonly model: string
}

function replyHead({ provider, model }: Pick<ChatReply, 'provider' | 'model'>): ReplyHead {
  const id = `chatcmpl-${randomUUID().replaceAll('-', '')}`
  return { id, created: Math.floor(Date.now() / 1000), model: `${provider}/${model}` }
}

/** Converts the tokens. A sum stays at the greatest safe integer. */
function wireUsage({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: Math.min(inputTokens + outputTokens, Number.MAX_SAFE_INTEGER),
  }
}
