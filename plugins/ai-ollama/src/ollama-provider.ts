import { type AiProvider, type ChatDelta, type ChatRequest, isNodekeepError } from '@nodekeep/plugin-sdk'
import { cancellableReply, modelNames } from '@nodekeep/plugin-sdk/model-servers'
import type { Ollama } from 'ollama/browser'
import { Call } from './call.ts'
import { connectionError, type FailedCall } from './failure.ts'
import { readReply } from './reply.ts'
import { chatParameters } from './request.ts'

/** Options of the provider. */
interface OllamaProviderOptions extends FailedCall {
  /** The address of the server, in any form that the SDK accepts. */
  readonly host: string
}

/** The models of an Ollama server, by its official SDK. */
export class OllamaProvider implements AiProvider {
  readonly supports = { tools: true, images: true, json: true }
  readonly #options: OllamaProviderOptions

  constructor(options: OllamaProviderOptions) {
    this.#options = options
  }

  async models(signal: AbortSignal): Promise<string[]> {
    const call = new Call(this.#options, signal)
    try {
      signal.throwIfAborted()
      const server = await this.#server(call)
      const { models } = await server.list()
      return modelNames(models.map(({ name, model }) => name ?? model))
    } catch (error) {
      throw this.#failure(error, signal, call)
    }
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta> {
    return cancellableReply(signal, (signal) => this.#reply(request, signal))
  }

  async *#reply(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    const call = new Call({ ...this.#options, model: request.model }, signal)
    try {
      signal.throwIfAborted()
      const parameters = chatParameters(request)
      const server = await this.#server(call)
      yield* readReply(await server.chat(parameters))
      await call.finish()
    } catch (error) {
      throw this.#failure(error, signal, call)
    } finally {
      call.end()
    }
  }

  /**
   * Loads the SDK with the first call. Its variant for Node would take the text of an image for the name of a file, and
   * send that file.
   */
  async #server({ fetch }: Call): Promise<Ollama> {
    const { Ollama } = await import('ollama/browser')
    return new Ollama({ host: this.#options.host, fetch })
  }

  #failure(error: unknown, signal: AbortSignal, { address }: Call): unknown {
    if (signal.aborted) return signal.reason
    return isNodekeepError(error) ? error : connectionError(this.#options, error, address)
  }
}
