import type { AiProvider, ChatDelta, ChatRequest } from '@nodekeep/plugin-sdk'
import { type ModelServer, modelNames, modelServer } from '@nodekeep/plugin-sdk/model-servers'
import type { Ollama } from 'ollama/browser'
import { Call } from './call.ts'
import { readReply } from './reply.ts'
import { chatParameters } from './request.ts'

/** Options of the provider. */
interface OllamaProviderOptions {
  /** The name that requests use. */
  readonly name: string
  /** The section of the configuration, for messages to the owner. */
  readonly section: string
  /** The address of the server, in any form that the SDK accepts. */
  readonly host: string
}

/** The models of an Ollama server, by its official SDK. */
export class OllamaProvider implements AiProvider {
  readonly supports = { tools: true, images: true, json: true }
  readonly host: string
  readonly #options: OllamaProviderOptions
  readonly #server: ModelServer

  constructor(options: OllamaProviderOptions) {
    const { name, section, host } = options
    this.#options = options
    // The SDK completes the address: without one, it is this machine.
    const address = host === '' ? '127.0.0.1' : host
    this.host = new URL(address.includes('://') ? address : `http://${address}`).hostname
    this.#server = modelServer({ name, url: host, setting: `${section}.host` })
  }

  async models(signal: AbortSignal): Promise<string[]> {
    const call = new Call({ name: this.#options.name, server: this.#server }, signal)
    try {
      signal.throwIfAborted()
      const sdk = await this.#connect(call)
      const { models } = await sdk.list()
      return modelNames(models.map(({ name, model }) => name ?? model))
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#failure(error, call)
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return this.#server.reply(request, signal, (signal) => this.#reply(request, signal))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    const call = new Call({ name: this.#options.name, server: this.#server, model: request.model }, signal)
    try {
      const parameters = chatParameters(request)
      const sdk = await this.#connect(call)
      yield* readReply(await sdk.chat(parameters))
      await call.finish()
    } catch (error) {
      throw this.#failure(error, call)
    } finally {
      call.end()
    }
  }

  /**
   * Loads the SDK with the first call. Its variant for Node would take the text of an image for the name of a file, and
   * send that file.
   */
  async #connect({ fetch }: Call): Promise<Ollama> {
    const { Ollama } = await import('ollama/browser')
    return new Ollama({ host: this.#options.host, fetch })
  }

  /** The SDK completes the address of the server. */
  #failure(cause: unknown, { address }: Call): unknown {
    return this.#server.error({ cause, ...(address !== undefined && { address }) })
  }
}
