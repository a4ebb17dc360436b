import type { ChatRequest } from '@nodekeep/plugin-sdk'
import { type ChatUsage, sumOfTokens } from '../usage/day-usage.ts'
import type { ProviderCall } from './provider-call.ts'

/** Tokens that were read and written. */
type Tokens = Pick<ChatUsage, 'inputTokens' | 'outputTokens' | 'estimated'>

const nothing: Tokens = { inputTokens: 0, outputTokens: 0, estimated: false }

/** Counts the tokens of a chat over all of its calls, because failed calls cost something, too. */
export class ChatCost {
  readonly #request: ChatRequest
  #earlier = nothing
  #call: ProviderCall | null = null
  #prompt: number | undefined

  constructor(request: ChatRequest) {
    this.#request = request
  }

  /** Notes the next call. The call before it has failed. */
  nextCall(call: ProviderCall): void {
    this.#earlier = this.#with(this.#last(false))
    this.#call = call
  }

  /**
   * Returns the tokens of all calls, once the last call is over.
   *
   * @param finished whether the reply of the last call is complete
   */
  total(finished: boolean): Tokens {
    return this.#with(this.#last(finished))
  }

  /** Tokens up to now, estimated. The prompt counts as read. */
  get soFar(): number {
    const isCounted = this.#call?.usage != null
    const { inputTokens, outputTokens } = this.#with(isCounted ? this.#last(false) : this.#estimate())
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

  /** Returns the tokens of the last call. */
  #last(finished: boolean): Tokens {
    if (this.#call === null || this.#call.refused) return nothing
    const { usage } = this.#call
    if (usage === null) return this.#estimate()
    // If the reply was cut short, the provider may have counted before it wrote the last pieces.
    const written = finished ? 0 : this.#written()
    const { inputTokens, outputTokens } = usage
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

/** A rule of thumb for most languages and models, for providers that do not count. */
const bytesPerToken = 4

/** Tokens of an image of usual size with the large providers. */
const tokensPerImage = 1000

/** Estimates the tokens of a text from its length in bytes of UTF-8. */
function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}

/** Estimates the tokens that a provider reads for a request. */
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
  return tokensOfBytes(bytes) + images * tokensPerImage
}

function partsOf(content: ChatRequest['messages'][number]['content']) {
  return typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
}
