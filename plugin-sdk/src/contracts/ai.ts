import { defineRegistry } from '../service.ts'

/** One part of a message: text, or an image as a `data:` URL. */
export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image'
      readonly url: string
      /** How closely the model looks at it. A provider without such a choice ignores it. */
      readonly detail?: 'auto' | 'low' | 'high' | 'original'
    }

/** A call of a tool that the model asks for. */
export interface ChatToolCall {
  readonly id: string
  readonly name: string
  /** The arguments as the JSON text that the model wrote; it may not parse. */
  readonly arguments: string
}

/**
 * One message of a conversation, by who speaks: the operator, the person, the model, or a tool that was called. Parts
 * stand apart: a provider whose server takes one text has them on lines of their own.
 */
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
  /** JSON Schema of the arguments, at most 100 levels deep. */
  readonly parameters: Readonly<Record<string, unknown>>
  /**
   * Whether the server has to keep the arguments to the schema. One that promises no such thing gives the arguments
   * that the model writes, which whoever calls the tool has to check in any case.
   */
  readonly strict?: boolean
}

/** Whether the model has to call a tool: as it likes, not at all, any, or the one with this name. */
export type ChatToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/**
 * What a provider is asked. The `ai` feature has validated it and applied its limits. Options that only tune the reply
 * are wishes: a provider whose server has no word for one ignores it.
 */
export interface ChatRequest {
  readonly model: string
  /** At least one. */
  readonly messages: readonly ChatMessage[]
  /** The longest reply, in tokens. */
  readonly maxTokens?: number
  /** 0 to 2. A provider whose own scale ends earlier takes its end. */
  readonly temperature?: number
  /** 0 to 1. */
  readonly topP?: number
  /** -2 to 2. Above 0, words become rarer the more often the reply already has them. */
  readonly frequencyPenalty?: number
  /** -2 to 2. Above 0, words become rarer once the reply has them. */
  readonly presencePenalty?: number
  /** A safe integer. The same request with the same seed has the same reply, as far as the server can do that. */
  readonly seed?: number
  /** How much the model thinks before it replies. A provider with other steps takes the nearest that it has. */
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** Texts that end the reply when the model writes them. They are not part of it. */
  readonly stop?: readonly string[]
  /** Only for providers that support tools. */
  readonly tools?: readonly ChatTool[]
  readonly toolChoice?: ChatToolChoice
  /**
   * Whether a reply may have several tool calls; as the server likes where it isn't said. One that cannot be told gives
   * several all the same, so that whoever wants a single call takes the first.
   */
  readonly parallelToolCalls?: boolean
  /** Asks for a reply that is JSON. Only for providers that support it. */
  readonly json?: {
    /** What the reply has to be, as a JSON Schema of at most 100 levels. Any JSON object without it. */
    readonly schema?: Readonly<Record<string, unknown>>
    /** What the reply is called and what it is for, which the model may read. Both may be ignored. */
    readonly name?: string
    readonly description?: string
    /** Whether the server has to keep to the schema where it would else only try to. Many always keep to it. */
    readonly strict?: boolean
  }
}

/** Why a reply ended: by itself, at a limit of length, to have tools called, or by a filter of the provider. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A piece of a reply. */
export type ReplyDelta =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call'
      /** Which call of the reply, counted from 0, 999 at most; later pieces of a call repeat it. */
      readonly index: number
      readonly id?: string
      readonly name?: string
      /** Further text of the arguments' JSON. */
      readonly arguments?: string
    }
  /** Tokens so far. A later one replaces an earlier one, so a provider tells as soon as it knows anything. */
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  | { readonly type: 'finish'; readonly reason: ChatFinishReason }

/** What a provider yields: pieces of the reply, and what the model thinks before it or in between. */
export type ChatDelta =
  | ReplyDelta
  /** It is no part of the reply, but shows that the model is at work, and counts as written. The text may be empty. */
  | { readonly type: 'reasoning'; readonly text: string }

/** What a provider can do beyond text. What it doesn't name it cannot, and is never asked for. */
export interface AiCapabilities {
  /** `tools`, `toolChoice`, `parallelToolCalls`, and messages that call tools or answer such calls. */
  readonly tools?: boolean
  /** Parts of the type `image`. */
  readonly images?: boolean
  /** `json`. */
  readonly json?: boolean
}

/** A source of models. It is small: streams, retries, limits and accounting belong to the `ai` feature. */
export interface AiProvider {
  readonly supports?: AiCapabilities
  /**
   * The identifiers of the models that are to be had now. Those of more than 512 characters are left out.
   *
   * @throws NodekeepError as `chat`, when they cannot be told
   */
  models(signal: AbortSignal): Promise<string[]>
  /**
   * Yields the reply and, last, exactly one `finish`: a reply without it counts as cut short. Takes no more from its server
   * than it is asked for, but for what fits into buffers of the connection: a reader may be slow. Ends the call at its
   * server when the signal aborts or the loop is left, also before the first piece: `cancellableReply` makes that of a
   * generator.
   *
   * @throws NodekeepError UPSTREAM_ERROR, UPSTREAM_TIMEOUT, TOO_MANY_REQUESTS (with `retry-after` where the server
   * says it), NOT_FOUND for an unknown model, VALIDATION_ERROR for a request that the model cannot serve; `permanent`
   * where asking again is no use. `modelServerError` makes them from an HTTP answer. A provider makes no retries of
   * its own.
   */
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** AI providers, by the name that `POST /api/ai/chat` uses. */
export const AiProviders = defineRegistry<AiProvider>('ai-providers', 1)
