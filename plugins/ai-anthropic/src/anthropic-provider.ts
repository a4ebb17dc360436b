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

/** More than the API has. A faulty server might promise a further page each time. */
const maxModels = 10_000

/** Options of the provider. */
export interface AnthropicProviderOptions {
  /** The name that requests use. */
  readonly name: string
  /** The section of the configuration, for messages to the owner. */
  readonly section: string
  /** The address of the API, without a slash at its end. */
  readonly endpoint: string
  /** The key, or an empty text. */
  readonly key: string
}

/** The models of Anthropic's Messages API, by its official SDK. */
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
        if (found.size >= maxModels || found.has(id)) break
        if (typeof id === 'string' && id !== '') found.add(id)
      }
      return [...found]
    } catch (error) {
      throw this.#failure(error, signal, this.#options)
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return cancellableReply(signal, (signal) => this.#reply(request, signal))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    try {
      signal.throwIfAborted()
      if (this.#options.key === '') throw this.#noKeyError()
      const body = await messageParams(request)
      const client = await this.#connect()
      // `messages.create` would write to the console about deprecated models.
      const events = await client.post<Stream<ReplyEvent>>('/v1/messages', {
        body,
        stream: true,
        signal,
      })
      yield* readReply(events)
    } catch (error) {
      throw this.#failure(error, signal, { ...this.#options, model: request.model })
    }
  }

  #noKeyError(): NodekeepError {
    const { name, section } = this.#options
    const message = `The AI provider "${name}" has no key. The owner of the node must set ${section}.apiKey.`
    return new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
  }

  /** Loads the SDK with the first call. */
  #connect(): Promise<Anthropic> {
    this.#client ??= import('@anthropic-ai/sdk').then(({ Anthropic }) => {
      const { endpoint, key } = this.#options
      // Without these options, the SDK would read the environment.
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

  #failure(error: unknown, signal: AbortSignal, call: FailedCall): unknown {
    if (signal.aborted) return signal.reason
    return isNodekeepError(error) ? error : providerError(call, error)
  }
}
