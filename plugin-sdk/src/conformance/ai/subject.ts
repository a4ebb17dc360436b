import type { AiProvider, ChatFinishReason, ChatRequest, ChatToolCall } from '../../contracts/ai.ts'
import type { ConformanceCheck } from '../conformance-test.ts'

/** A feature of chats that some protocols cannot express. */
export type WireGap =
  | 'maxTokens'
  | 'temperature'
  | 'topP'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'seed'
  | 'reasoningEffort'
  | 'stop'
  | 'usage'
  | 'content_filter'
  /** The protocol does not send thoughts, or sends them as text. */
  | 'thoughts'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'strictTools'
  | 'jsonWithoutSchema'
  | 'jsonName'
  | 'strictJson'
  /** The protocol is not HTTP, so a server cannot redirect a chat. */
  | 'redirect'
  /** The models of the provider are not those of a list that its server sends. */
  | 'models'

/** A provider that is ready for one test, and the server behind it. */
export interface AiSubject {
  readonly provider: AiProvider
  /** The models of the server, at least one. */
  readonly models: readonly string[]
  readonly server: ScriptedModelServer
  /** The key that the provider sends, if any. No error message may contain it. */
  readonly key?: string
  /** Features that the server's protocol cannot express. Everything else must arrive. */
  readonly wireLacks?: readonly WireGap[]
  /** Stops the server: connections are refused from now on. */
  stopServer(): Promise<void>
  close(): Promise<void>
}

/** Registers one test, which gets a subject of its own. */
export type AiCheck = ConformanceCheck<AiSubject>

/**
 * How a scripted server answers chats, in the terms of the contract. The server translates it into its protocol. "Without
 * end" means 64 MiB, after which the connection stays open and silent: a provider has to give up before.
 */
export type ModelScene =
  | {
      /** A reply from beginning to end. */
      readonly kind: 'reply'
      /** Thoughts before the text, each piece sent separately, if the protocol can tell thoughts from text. */
      readonly thoughts?: readonly string[]
      /** The pieces of the text, each sent separately. */
      readonly text: readonly string[]
      /** Tool calls after the text. Their arguments come in at least two pieces if the protocol allows. */
      readonly toolCalls?: readonly ChatToolCall[]
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
      readonly finish: ChatFinishReason
      /** The server's own word for the reason of the end, in place of its word for `finish`, if the protocol has such words. */
      readonly reason?: string
      /** Sends the answer one byte at a time, so that boundaries fall inside characters and lines. */
      readonly byteByByte?: boolean
      /** Sends the byte 0xFF, which is not UTF-8, in place of each U+FFFD. */
      readonly invalidBytes?: boolean
    }
  /**
   * An HTTP error at once, in the server's own form. As with real servers, the error repeats the sent key, and the error
   * of 404 says that the model does not exist. If it is `endless`, the body does not end.
   */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly retryAfter?: string
      readonly endless?: boolean
    }
  /** These names as the list of models. If it is `endless`, the last name does not end. */
  | { readonly kind: 'models'; readonly names: readonly string[]; readonly endless?: boolean }
  /**
   * A redirect of chats and of requests for models: HTTP status 307 with this address as `location`.
   */
  | { readonly kind: 'redirect'; readonly location: string }
  /** The server accepts the request, and never sends a byte of an answer. */
  | { readonly kind: 'silence' }
  /** Some text, and then nothing. The connection stays open. */
  | { readonly kind: 'stall'; readonly text: readonly string[] }
  /** Some text, and then the connection is cut. */
  | { readonly kind: 'cut'; readonly text: readonly string[] }
  /** Some text, and then a regular end of the answer without the end of the reply. */
  | { readonly kind: 'unfinished'; readonly text: readonly string[] }
  /** Some text, then an error in the server's form for errors within a reply, and the end of a reply. */
  | { readonly kind: 'failure'; readonly text: readonly string[] }
  /** Status 200 and the right content type with a malformed body. */
  | { readonly kind: 'garbage' }
  /** Some text, and then a piece that does not end. */
  | { readonly kind: 'endless'; readonly text: readonly string[] }
  /** Some text, and then without end, as fast as the client takes them, blank lines or events that add nothing. */
  | { readonly kind: 'flood'; readonly text: readonly string[]; readonly of: 'blank lines' | 'empty events' }

/** A reply from beginning to end. */
export type ReplyScene = Extract<ModelScene, { kind: 'reply' }>

/**
 * The request of the last chat, as the server understood it. Features that the protocol lacks are left out. The id of a
 * tool call is empty if the protocol has none.
 */
export type ReceivedChat = ChatRequest

/**
 * A local server with the protocol of the provider's real server. Each author writes one for their protocol, so that the
 * tests of the suite use a real connection.
 */
export interface ScriptedModelServer {
  /** Sets the scene for all chats from now on. The first scene is a short reply. */
  play(scene: ModelScene): void
  /** The last chat that arrived, or `null` before the first. */
  received(): ReceivedChat | null
  /** The number of chats that have arrived, including those that failed. */
  chats(): number
  /** The number of chats whose connection is open and whose answer is not complete. */
  openChats(): number
  /**
   * Whether a request had this text in its address or a header. A server with a `key` has this function, so that the suite
   * can tell that the key arrives: an error can only repeat a key that did.
   */
  sent?(text: string): boolean
}

/** Tells whether the protocol of the server lacks a feature. */
export function lacks({ wireLacks = [] }: AiSubject, feature: string): boolean {
  return wireLacks.some((gap) => gap === feature)
}

/** Makes the reason of a test that is skipped because the protocol lacks a feature. */
export function lacking(feature: WireGap | ChatFinishReason): string {
  return `The protocol lacks "${feature}" ("wireLacks").`
}
