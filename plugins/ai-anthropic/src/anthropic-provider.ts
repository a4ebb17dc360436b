import type Anthropic from '@anthropic-ai/sdk'
import {
  type AiProvider,
  type ChatDelta,
  type ChatRequest,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { type ModelServer, modelNames, modelServer } from '@nodekeep/plugin-sdk/model-servers'
import { providerError } from './failure.ts'
import { readReply } from './reply.ts'
import { messageParams } from './request.ts'

/** More models than the API has. A faulty server might promise a further page each time. */
const maxModels = 10_000

/** Options of the provider. */
interface AnthropicProviderOptions {
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
  readonly host: string
  readonly #options: AnthropicProviderOptions
  readonly #server: ModelServer
  #client: Promise<Anthropic> | undefined

  constructor(options: AnthropicProviderOptions) {
    const { name, section, endpoint, key } = options
    this.#options = options
    this.host = new URL(endpoint).hostname
    this.#server = modelServer({
      name,
      url: endpoint,
      setting: `${section}.baseURL`,
      key,
      // The API's version of 2026-10-21 requires a bearer token.
      headers: { authorization: `Bearer ${key}` },
    })
  }

  async models(signal: AbortSignal): Promise<string[]> {
    if (this.#options.key === '') return []
    try {
      signal.throwIfAborted()
      const { models } = await this.#connect()
      const found = new Set<string>()
      for await (const { id } of models.list({ limit: 1000 }, { signal })) {
        if (found.size >= maxModels || found.has(id)) break
        found.add(id)
      }
      return modelNames(found)
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#failure(error)
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return this.#server.reply(request, signal, (signal) => this.#reply(request, signal))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    if (this.#options.key === '') throw this.#noKeyError()
    try {
      const body = await messageParams(request)
      const client = await this.#connect()
      // The SDK's own stream skips pings and unknown events, so nobody could count them.
      yield* readReply(await client.post('/v1/messages', { body, stream: true, signal }).asResponse())
    } catch (error) {
      throw this.#failure(error, request.model)
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
        fetch: this.#fetch,
        maxRetries: 0,
        logLevel: 'off',
        openTelemetry: false,
      })
    })
    return this.#client
  }

  #failure(error: unknown, model?: string): NodekeepError {
    return isNodekeepError(error) ? error : providerError(this.#server, this.#options.name, error, model)
  }

  /**
   * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe this
   * machine in its headers, add those of ANTHROPIC_CUSTOM_HEADERS, and hold lists and errors of any length in memory.
   */
  readonly #fetch: typeof fetch = (input, init = {}) => {
    const all = new Headers(init.headers)
    const sent = ['accept', 'anthropic-version', 'content-type'].flatMap((name) => {
      const value = all.get(name)
      return value === null ? [] : [[name, value] as [string, string]]
    })
    return this.#server.fetch(input, { ...init, headers: sent })
  }
}
