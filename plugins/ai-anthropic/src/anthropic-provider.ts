import type Anthropic from '@anthropic-ai/sdk'
import type { Stream } from '@anthropic-ai/sdk/streaming'
import {
  type AiProvider,
  type ChatDelta,
  type ChatRequest,
  cancellableReply,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { type FailedCall, providerError } from './failure.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { type ReplyEvent, readReply } from './reply.ts'
import { messageParams } from './request.ts'

/** More than the API has; a server that always promises a further page is not believed. */
const mostModels = 10_000

/** What the provider works with. */
export interface AnthropicProviderOptions {
  /** The name under which people ask for it. */
  readonly name: string
  /** The configuration section, which messages to the owner name. */
  readonly section: string
  /** The address of the API, without a slash at its end. */
  readonly endpoint: string
  /** Empty when there is none. */
  readonly key: string
}

/** Models behind Anthropic's Messages API, by its official SDK. */
export class AnthropicProvider implements AiProvider {
  readonly supports = { tools: true, images: true, json: true }
  readonly #options: AnthropicProviderOptions
  #client: Promise<Anthropic> | undefined

  constructor(options: AnthropicProviderOptions) {
    this.#options = options
  }

  async models(signal: AbortSignal): Promise<string[]> {
    if (this.#options.key === '') return []
    try {
      signal.throwIfAborted()
      const { models } = await this.#connect()
      const found = new Set<string>()
      for await (const { id } of models.list({ limit: 1000 }, { signal })) {
        if (found.size >= mostModels || found.has(id)) break
        if (typeof id === 'string' && id !== '') found.add(id)
      }
      return [...found]
    } catch (error) {
      throw this.#explain(error, signal, this.#options)
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return cancellableReply(signal, (ending) => this.#reply(request, ending))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    try {
      signal.throwIfAborted()
      if (this.#options.key === '') throw this.#lackingKey()
      const body = await messageParams(request)
      const client = await this.#connect()
      // Not `messages.create`, which writes to the console about models that Anthropic gives up.
      const events = await client.post<Stream<ReplyEvent>>('/v1/messages', {
        body,
        stream: true,
        signal,
      })
      yield* readReply(events)
    } catch (error) {
      throw this.#explain(error, signal, { ...this.#options, model: request.model })
    }
  }

  #lackingKey(): NodekeepError {
    const { name, section } = this.#options
    const message = `The AI provider "${name}" has no key. This node's owner has to set ${section}.apiKey.`
    return new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
  }

  /** The SDK is loaded when it is first needed. */
  #connect(): Promise<Anthropic> {
    this.#client ??= import('@anthropic-ai/sdk').then(({ Anthropic }) => {
      const { endpoint, key } = this.#options
      // What is not said here, the SDK takes from the environment.
      return new Anthropic({
        apiKey: key,
        baseURL: endpoint,
        webhookKey: null,
        fetch: guardedFetch(key),
        maxRetries: 0,
        logLevel: 'off',
        openTelemetry: false,
      })
    })
    return this.#client
  }

  #explain(error: unknown, signal: AbortSignal, failing: FailedCall): unknown {
    if (signal.aborted) return signal.reason
    return isNodekeepError(error) ? error : providerError(failing, error)
  }
}
