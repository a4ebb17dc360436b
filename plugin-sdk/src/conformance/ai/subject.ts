import type { AiProvider, ChatFinishReason, ChatRequest, ChatToolCall } from '../../contracts/ai.ts'

/** Something that a chat may need and some wires have no words for. */
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
  /** For a wire on which thoughts, if there are any, look like text, or don't come at all. */
  | 'thoughts'
  | 'parallelToolCalls'
  | 'strictTools'
  | 'jsonWithoutSchema'
  | 'jsonName'
  | 'strictJson'
  /** For a wire that is not HTTP: it cannot send a chat to another server. */
  | 'redirect'

/** A provider that is ready for one test, and the server behind it. */
export interface AiSubject {
  readonly provider: AiProvider
  /** The models that the server has; at least one. */
  readonly models: readonly string[]
  readonly server: ScriptedModelServer
  /** The key that the provider sends, where it has one: no message of an error may hold it. */
  readonly key?: string
  /** What the server's wire has no words for. Everything else has to arrive. */
  readonly wireLacks?: readonly WireGap[]
  /** Takes the server away: connections are refused from now on. */
  stopServer(): Promise<void>
  close(): Promise<void>
}

/** Registers one test that gets a subject of its own. */
export type AiCheck = (name: string, run: (subject: AiSubject) => Promise<void>) => void

/** What a scripted server does with the chats that come. The words are the contract's; the server puts them on its wire. */
export type ModelScene =
  | {
      /** A reply from beginning to end. */
      readonly kind: 'reply'
      /** What the model thinks before its text, each piece sent by itself, where the wire can tell thoughts from text. */
      readonly thoughts?: readonly string[]
      /** The pieces of the text, each sent by itself. */
      readonly text: readonly string[]
      /** Calls that the model makes after its text; their arguments come in at least two pieces where the wire can. */
      readonly toolCalls?: readonly ChatToolCall[]
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
      readonly finish: ChatFinishReason
      /** Sends the answer one byte at a time, so that boundaries fall inside characters and lines. */
      readonly byteByByte?: boolean
    }
  /**
   * An HTTP error at once, in the server's own form. As those of real servers do, that of 401 repeats the key that was
   * sent, and that of 404 says that there is no such model.
   */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /**
   * The request is taken, and sent elsewhere: HTTP status 307 with this address as `location`. So is, in this scene, who
   * asks for the models.
   */
  | { readonly kind: 'redirect'; readonly location: string }
  /** The request is taken, and no byte of an answer ever comes. */
  | { readonly kind: 'silence' }
  /** Some text, and then nothing more: the connection stays open. */
  | { readonly kind: 'stall'; readonly text: readonly string[] }
  /** Some text, and then the connection is cut. */
  | { readonly kind: 'cut'; readonly text: readonly string[] }
  /** Some text, and then the answer ends in order, without what ends a reply on this wire. */
  | { readonly kind: 'unfinished'; readonly text: readonly string[] }
  /** Some text, and then an error in the form in which the server reports one in mid-reply. */
  | { readonly kind: 'failure'; readonly text: readonly string[] }
  /** Status 200 and the right content type, with a body that makes no sense. */
  | { readonly kind: 'garbage' }

/**
 * The request of the last chat, as the server understood it. What the wire cannot say is left out; the id of a tool call
 * is empty where the wire has none.
 */
export type ReceivedChat = ChatRequest

/**
 * A local server that speaks the wire protocol of a provider's real one. Every author writes it for their protocol;
 * it is what makes the suite's tests real.
 */
export interface ScriptedModelServer {
  /** Says what happens with every chat from now on. At first that is a short reply. */
  play(scene: ModelScene): void
  /** The last chat that arrived, `null` before the first. */
  received(): ReceivedChat | null
  /** How many chats have arrived so far, those that failed among them. */
  chats(): number
  /** Chats whose connection is open now and whose answer has not been sent to its end. */
  openChats(): number
}
