import { defineRegistry } from '../service.ts'

/** One part of a message: text, or an image as a `data:` URL. */
export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }

/** A call of a tool that the model asks for. */
export interface ChatToolCall {
  readonly id: string
  readonly name: string
  /** The arguments as the JSON text that the model wrote; it may not parse. */
  readonly arguments: string
}

/** One message of a conversation, by who speaks: the operator, the person, the model, or a tool that was called. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string | readonly ChatPart[] }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls?: readonly ChatToolCall[]
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string }

/** A tool that the model may ask for. */
export interface ChatTool {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** What a provider is asked. The `ai` feature has validated it and applied its limits. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly maxTokens?: number
  /** 0 to 2. */
  readonly temperature?: number
  readonly stop?: readonly string[]
  readonly tools?: readonly ChatTool[]
}

/** Why a reply ended: by itself, at a limit of length, to have tools called, or by a filter of the provider. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A piece of a reply. */
export type ChatDelta =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call'
      /** Which call of the reply, counted from 0; later pieces of a call repeat it. */
      readonly index: number
      readonly id?: string
      readonly name?: string
      /** Further text of the arguments' JSON. */
      readonly arguments?: string
    }
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  | { readonly type: 'finish'; readonly reason: ChatFinishReason }

/** A source of models. It is small: streams, retries, limits and accounting belong to the `ai` feature. */
export interface AiProvider {
  /** The identifiers of the models that are to be had now. */
  models(signal: AbortSignal): Promise<string[]>
  /**
   * Yields the reply and, last, exactly one `finish`: a reply without it counts as cut short. Ends the call at its
   * server when the signal aborts or the loop is left.
   *
   * @throws NodekeepError UPSTREAM_ERROR, UPSTREAM_TIMEOUT, TOO_MANY_REQUESTS (with `retry-after`), NOT_FOUND for
   * an unknown model, VALIDATION_ERROR for a request that the model can't serve. It makes no retries of its own.
   */
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** AI providers, by the name that `POST /api/ai/chat` uses. */
export const AiProviders = defineRegistry<AiProvider>('ai-providers', 1)
