import type { ChatRequest } from '@nodekeep/plugin-sdk'
import { type ChatUsage, sumOfTokens } from '../usage/day-usage.ts'
import type { ProviderCall } from './provider-call.ts'

/** What was read and written, in tokens. */
export type Tokens = Pick<ChatUsage, 'inputTokens' | 'outputTokens' | 'estimated'>

const nothing: Tokens = { inputTokens: 0, outputTokens: 0, estimated: false }

/** What a chat comes to with all of its calls: one that failed has cost something, too, also where another replied. */
export class ChatCost {
  readonly #request: ChatRequest
  #earlier = nothing
  #call: ProviderCall | null = null
  #prompt: number | undefined

  constructor(request: ChatRequest) {
    this.#request = request
  }

  /** Notes the call that is about to be made. The one before it has failed. */
  calls(call: ProviderCall): void {
    this.#earlier = this.#with(this.#last(false))
    this.#call = call
  }

  /**
   * What it all came to, once the last call is over.
   *
   * @param finished whether that call's reply is whole
   */
  total(finished: boolean): Tokens {
    return this.#with(this.#last(finished))
  }

  /** Tokens up to now, estimated: that the prompt is read is taken for granted. */
  get soFar(): number {
    const isTold = this.#call?.usage != null
    const { inputTokens, outputTokens } = this.#with(isTold ? this.#last(false) : this.#estimate())
    return sumOfTokens(inputTokens, outputTokens)
  }

  #with(call: Tokens): Tokens {
    const { inputTokens, outputTokens, estimated } = this.#earlier
    return {
      inputTokens: sumOfTokens(inputTokens, call.inputTokens),
      outputTokens: sumOfTokens(outputTokens, call.outputTokens),
      estimated: estimated || call.estimated,
    }
  }

  /** What the last call comes to. */
  #last(finished: boolean): Tokens {
    if (this.#call === null || this.#call.refused) return nothing
    const { usage: said } = this.#call
    if (said === null) return this.#estimate()
    // What a provider said before it was cut off may be older than what it wrote.
    const written = finished ? 0 : this.#written()
    const { inputTokens, outputTokens } = said
    return { inputTokens, outputTokens: Math.max(outputTokens, written), estimated: written > outputTokens }
  }

  #estimate(): Tokens {
    this.#prompt ??= tokensOfRequest(this.#request)
    return { inputTokens: this.#prompt, outputTokens: this.#written(), estimated: true }
  }

  #written(): number {
    return tokensOfBytes(this.#call?.bytes ?? 0)
  }
}

/** A rule of thumb for most languages and models, for where a provider does not say what it counted. */
const bytesOfAToken = 4

/** What a picture of usual size comes to with the large providers. */
const tokensOfAnImage = 1000

/** The tokens of a text, by its length in bytes of UTF-8. */
function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesOfAToken)
}

/** The tokens that a provider reads for a request. */
function tokensOfRequest({ messages, tools, json }: ChatRequest): number {
  let bytes = tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(tools))
  if (json?.schema !== undefined) bytes += Buffer.byteLength(JSON.stringify(json))
  let images = 0
  for (const message of messages) {
    if (message.role === 'assistant' && message.toolCalls) {
      bytes += Buffer.byteLength(JSON.stringify(message.toolCalls))
    }
    for (const part of partsOf(message.content)) {
      if (part.type === 'text') bytes += Buffer.byteLength(part.text)
      else images += 1
    }
  }
  return tokensOfBytes(bytes) + images * tokensOfAnImage
}

function partsOf(content: ChatRequest['messages'][number]['content']) {
  return typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
}
