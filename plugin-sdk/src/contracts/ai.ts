import { defineRegistry, lackingMethod } from '../service.ts'

/** One part of a message: text, or an image as a `data:` URL. */
export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image'
      readonly url: string
      /** The level of detail at which the model sees the image. A provider without such levels ignores it. */
      readonly detail?: 'auto' | 'low' | 'high' | 'original'
    }

/** A tool call of the model. */
export interface ChatToolCall {
  readonly id: string
  readonly name: string
  /** The arguments as the JSON text that the model wrote. It may be invalid. */
  readonly arguments: string
}

/**
 * One message of a conversation, from the operator, the person, the model, or a tool. Parts are separate: if the server
 * of a provider takes only one text, the provider joins text parts with line ends.
 */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string | readonly ChatPart[] }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls?: readonly ChatToolCall[]
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string }

/** A tool that the model may call. */
export interface ChatTool {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments, at most 100 levels deep. */
  readonly parameters: Readonly<Record<string, unknown>>
  /**
   * Whether the server must enforce the schema for the arguments. Not every server can, so the code that runs the tool
   * must check the arguments in any case.
   */
  readonly strict?: boolean
}

/** Whether the model calls a tool: it decides (`auto`), none, at least one (`required`), or the tool with this name. */
export type ChatToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/**
 * A request to a provider. The `ai` feature has validated it and applied its limits. A provider ignores options that only
 * tune the reply if its server does not support them.
 */
export interface ChatRequest {
  readonly model: string
  /** At least one. */
  readonly messages: readonly ChatMessage[]
  /** The longest reply, in tokens. */
  readonly maxTokens?: number
  /** 0 to 2. A provider with a shorter scale uses the end of its scale. */
  readonly temperature?: number
  /** 0 to 1. */
  readonly topP?: number
  /** -2 to 2. Above 0, words become less likely the more often they are in the reply. */
  readonly frequencyPenalty?: number
  /** -2 to 2. Above 0, words become less likely once they are in the reply. */
  readonly presencePenalty?: number
  /** A safe integer. The same request with the same seed gets the same reply, as far as the server supports that. */
  readonly seed?: number
  /** How much the model thinks before it replies. A provider with other levels uses the nearest one. */
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** Texts that end the reply. They are not part of it. */
  readonly stop?: readonly string[]
  /** Only for providers that support tools. */
  readonly tools?: readonly ChatTool[]
  readonly toolChoice?: ChatToolChoice
  /**
   * Whether a reply may have several tool calls. By default the server decides. A server without this option may still
   * send several, so a caller that needs a single call uses the first.
   */
  readonly parallelToolCalls?: boolean
  /** Requests a reply in JSON. Only for providers that support it. */
  readonly json?: {
    /** JSON Schema of the reply, at most 100 levels deep. Without it, the reply is any JSON object. */
    readonly schema?: Readonly<Record<string, unknown>>
    /** Name and purpose of the reply, for the model. Both may be ignored. */
    readonly name?: string
    readonly description?: string
    /** Whether the server must enforce the schema. Many servers always do. */
    readonly strict?: boolean
  }
}

/**
 * The reason why a reply ended: by itself, at a length limit, for tool calls, or by a content filter of the provider. A
 * reason that the provider does not know is `stop`: servers get new ones.
 */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A piece of a reply. */
export type ReplyDelta =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call'
      /** The call's index in the reply, from 0 to 999. All pieces of a call have the same index. */
      readonly index: number
      readonly id?: string
      readonly name?: string
      /** Further text of the arguments' JSON. */
      readonly arguments?: string
    }
  /** Tokens so far. A later count replaces an earlier one. A provider yields each count as soon as it has the count. */
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  | { readonly type: 'finish'; readonly reason: ChatFinishReason }

/** A piece that a provider yields: part of the reply, or of the model's thoughts. */
export type ChatDelta =
  | ReplyDelta
  /** Thoughts are no part of the reply. They show that the model is working, and they count as output. May be empty. */
  | { readonly type: 'reasoning'; readonly text: string }

/** The abilities of a provider beyond text. It never gets a request that needs more. */
export interface AiCapabilities {
  /** `tools`, `toolChoice`, `parallelToolCalls`, and messages that call tools or answer such calls. */
  readonly tools?: boolean
  /** Parts of the type `image`. */
  readonly images?: boolean
  /** `json`. */
  readonly json?: boolean
}

/**
 * The `reason` of errors that AI providers and the `ai` feature throw, where it is known. The words are OpenAI's.
 *
 * - `model_not_found`: NOT_FOUND, the provider or the model is unknown
 * - `context_length_exceeded`: VALIDATION_ERROR, the conversation is too long for the model
 * - `insufficient_quota`: UPSTREAM_ERROR, the account at the provider has no credit left
 */
export type AiFailureReason = 'model_not_found' | 'context_length_exceeded' | 'insufficient_quota'

/** A source of models. Streams to the client, retries, limits and accounting belong to the `ai` feature. */
export interface AiProvider {
  readonly supports?: AiCapabilities
  /**
   * The host of its server, without a port, such as `127.0.0.1` or `api.acme.example`. The pages tell people that their messages go there.
   * Without it, they tell nothing.
   */
  readonly host?: string
  /**
   * Lists the identifiers of the available models. Identifiers of more than 512 characters are left out. `modelNames` does
   * that.
   *
   * @throws NodekeepError as `chat`
   */
  models(signal: AbortSignal): Promise<string[]>
  /**
   * Yields the reply and, last, exactly one `finish`. A reply that ends without `finish` is an error that the provider
   * throws. After `finish`, the reader gives the provider a second to end by itself, so that the connection can be used
   * again. Because a reader may be slow, a provider takes no more from its server than is requested, except what fits into
   * the buffers of the connection. The provider ends the call at its server when the signal aborts or the loop is left,
   * also before the first piece. `modelServer` does that for a generator.
   *
   * A provider bounds everything that its server sends: lines, lists and error bodies; `modelServer`, `readEvents`,
   * `limitLines` and `readWithin` do that. For an event of the server that adds nothing to the reply, the provider yields
   * an empty text. The `ai` feature counts these pieces, gives the rest of the node its turn, and ends a chat with
   * nothing but such pieces. Bytes that are not UTF-8 become U+FFFD, or end the reply with an error.
   *
   * @throws NodekeepError UPSTREAM_ERROR, UPSTREAM_TIMEOUT, TOO_MANY_REQUESTS (with `retry-after` where the server
   * sends it), NOT_FOUND for an unknown model, VALIDATION_ERROR for a request that the model cannot serve. `permanent`
   * means that a retry is useless. `modelServer` makes these errors. A provider makes no retries
   * of its own.
   */
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** AI providers, by the name that `POST /api/ai/chat` uses. */
export const AiProviders = defineRegistry<AiProvider>('ai-providers', 1, (provider) =>
  lackingMethod(provider, 'models', 'chat'),
)
