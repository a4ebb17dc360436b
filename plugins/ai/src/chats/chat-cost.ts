import type { ChatRequest } from '@nodekeep/plugin-sdk'
import { tokensOfBytes, tokensOfRequest } from '../usage/estimate.ts'
import { type ChatUsage, sumOfTokens } from '../usage/usage-row.ts'
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
