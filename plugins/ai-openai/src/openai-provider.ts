import {
  type AiProvider,
  type ChatDelta,
  type ChatRequest,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { type ModelServer, modelNames, modelServer } from '@nodekeep/plugin-sdk/model-servers'
import type { OpenAI } from 'openai'
import { type Configuration, openaiBaseURL } from './configuration.ts'
import { hasNoList, providerError, refusesStreamOptions } from './failures.ts'
import { readReply, refusal } from './reply.ts'
import { chatParameters, type TokenLimitField } from './request.ts'
import { sdkFetch } from './sdk-fetch.ts'

/** Options of the provider. */
export interface OpenAIProviderOptions extends Pick<Configuration, 'models' | 'tokenLimitField'> {
  /** The name that requests use. */
  readonly name: string
  /** The section of the configuration, for messages to the owner. */
  readonly section: string
  /** The address of the API, without a slash at its end. */
  readonly endpoint: string
  /** The key. It is empty for servers that need none. */
  readonly key: string
}

/** The models of a server with OpenAI's chat completions API, by OpenAI's SDK. */
export class OpenAIProvider implements AiProvider {
  readonly supports = { tools: true, images: true, json: true }
  readonly host: string
  readonly #options: OpenAIProviderOptions
  readonly #server: ModelServer
  readonly #tokenLimitField: TokenLimitField
  #client: Promise<OpenAI> | undefined
  /** Whether to ask for a count of tokens. Some servers refuse the option. */
  #askForUsage = true

  constructor(options: OpenAIProviderOptions) {
    const { name, section, endpoint, key } = options
    this.#options = options
    this.host = new URL(endpoint).hostname
    this.#server = modelServer({
      name,
      url: endpoint,
      setting: `${section}.baseURL`,
      key,
      ...(key !== '' && { headers: { authorization: `Bearer ${key}` } }),
    })
    this.#tokenLimitField = tokenLimitField(options)
  }

  async models(signal: AbortSignal): Promise<string[]> {
    const { models, name, section } = this.#options
    if (models !== undefined) return [...new Set(models)]
    if (this.#lacksKey) return []
    try {
      const client = await this.#connect()
      return await readModels(await client.get('/models', { signal }))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!hasNoList(error)) throw providerError(this.#server, error)
      const message = `The AI provider "${name}" has no list of models at its address. The owner of the node must check ${section}.baseURL, or can set ${section}.models.`
      throw new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return this.#server.reply(request, signal, (signal) => this.#reply(request, signal))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    if (this.#lacksKey) {
      const { name, section } = this.#options
      const message = `The AI provider "${name}" has no key. The owner of the node must set ${section}.apiKey.`
      throw new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
    }
    try {
      yield* readReply(await this.#ask(request, signal))
    } catch (error) {
      throw isNodekeepError(error) ? error : providerError(this.#server, error, request.model)
    }
  }

  async #ask(request: ChatRequest, signal: AbortSignal): Promise<Response> {
    const client = await this.#connect()
    const parameters = chatParameters(request, this.#tokenLimitField)
    // The SDK's own stream does not read to the end of the answer, so its connection could not be used again.
    const send = (body: object) =>
      client.post('/chat/completions', { body, stream: true, signal }).asResponse()
    if (!this.#askForUsage) return send(parameters)
    try {
      return await send({ ...parameters, stream_options: { include_usage: true } })
    } catch (error) {
      if (!refusesStreamOptions(error)) throw error
    }
    const reply = await send(parameters)
    // Set only after a success: the first refusal may have had another reason.
    this.#askForUsage = false
    return reply
  }

  get #lacksKey(): boolean {
    return this.#options.key === '' && this.#options.endpoint === openaiBaseURL
  }

  /** Loads the SDK with the first call. */
  #connect(): Promise<OpenAI> {
    this.#client ??= import('openai').then(({ OpenAI }) => {
      return new OpenAI({
        baseURL: this.#options.endpoint,
        // The server's own `fetch` sends the key. Without the values of `null`, the SDK would read the environment.
        apiKey: 'unused',
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        fetch: sdkFetch(this.#server),
        maxRetries: 0,
        logLevel: 'off',
      })
    })
    return this.#client
  }
}

function tokenLimitField({ tokenLimitField, endpoint }: OpenAIProviderOptions): TokenLimitField {
  if (tokenLimitField !== 'auto') return tokenLimitField
  const openai = /(^|\.)openai\.(com|azure\.com)$/.test(new URL(endpoint).hostname)
  return openai ? 'max_completion_tokens' : 'max_tokens'
}

/**
 * Reads the answer of `GET /models`. OpenAI's form is `{ "data": [{ "id" }] }`. Other servers send the list itself, name it
 * `models`, or have `name` instead of `id`, or names only.
 *
 * @throws Error if the answer has no list, and the SDK's error if it has an error
 */
async function readModels(answer: unknown): Promise<string[]> {
  const list = [answer, property(answer, 'data'), property(answer, 'models')].find(Array.isArray)
  if (list === undefined && property(answer, 'error')) throw await refusal(answer)
  if (list === undefined) throw new Error('The answer has no list of models.')
  const names = list.map((model: unknown) =>
    typeof model === 'string' ? model : (property(model, 'id') ?? property(model, 'name')),
  )
  return modelNames(names)
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}
