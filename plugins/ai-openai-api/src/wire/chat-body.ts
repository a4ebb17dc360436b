import type { ChatPart, ChatRequest } from '@nodekeep/plugin-sdk'

/** How closely an image is looked at. */
export type WireDetail = NonNullable<Extract<ChatPart, { type: 'image' }>['detail']>

/** How much is thought. */
export type WireEffort = NonNullable<ChatRequest['reasoningEffort']>

type JSONSchema = Readonly<Record<string, unknown>>

/** One part of a message's content. */
export interface WirePart {
  readonly type: 'text' | 'image_url' | 'refusal'
  readonly text?: string
  readonly image_url?: { readonly url: string; readonly detail?: WireDetail | null }
  readonly refusal?: string
}

export interface WireMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly WirePart[] | null
  /** What the model said in place of a reply. */
  readonly refusal?: string | null
  /** A spoken reply. */
  readonly audio?: unknown
  /** The older form of `tool_calls`. */
  readonly function_call?: unknown
  readonly tool_calls?: readonly WireToolCall[] | null
  readonly tool_call_id?: string | null
}

/** A call of a tool that the model made earlier in the conversation. */
export interface WireToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface WireTool {
  readonly function: {
    readonly name: string
    readonly description?: string | null
    readonly parameters?: JSONSchema | null
    readonly strict?: boolean | null
  }
}

/** What the reply has to be. */
export interface WireFormat {
  readonly type: 'text' | 'json_object' | 'json_schema'
  /** Where llama.cpp and others have the schema of a `json_object`. */
  readonly schema?: JSONSchema | null
  readonly json_schema?: {
    readonly name?: string | null
    readonly description?: string | null
    readonly schema?: JSONSchema | null
    readonly strict?: boolean | null
  } | null
}

/** A body of `POST /v1/chat/completions` whose shape has been checked. Clients write fields that they don't use as null. */
export interface ChatRequestBody {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean | null } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly frequency_penalty?: number | null
  readonly presence_penalty?: number | null
  readonly seed?: number | null
  readonly reasoning_effort?: WireEffort | null
  readonly stop?: string | readonly string[] | null
  readonly tools?: readonly WireTool[] | null
  readonly tool_choice?: string | { readonly function?: { readonly name: string } } | null
  readonly parallel_tool_calls?: boolean | null
  readonly response_format?: WireFormat | null
  readonly n?: number | null
  readonly logprobs?: boolean | null
  readonly logit_bias?: Readonly<Record<string, unknown>> | null
  readonly modalities?: readonly string[] | null
  readonly functions?: unknown
  readonly web_search_options?: unknown
  readonly moderation?: unknown
}
