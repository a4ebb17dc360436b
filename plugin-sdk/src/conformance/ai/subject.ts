import type { AiProvider } from '../../contracts/ai.ts'
import type { ScriptedModelServer } from './model-server.ts'

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
