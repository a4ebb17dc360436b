import type { AiProvider } from '../contracts/ai.ts'
import type { ScriptedModelServer } from './ai/model-server.ts'
import type { ConformanceTest } from './conformance-test.ts'

export type { ModelScene, ReceivedChat, ScriptedModelServer } from './ai/model-server.ts'
export type { ConformanceTest }

/** A provider that is ready for one test, and the server behind it. */
export interface AiSubject {
  readonly provider: AiProvider
  /** The models that the server has; at least one. */
  readonly models: readonly string[]
  readonly server: ScriptedModelServer
  /** Takes the server away: connections are refused from now on. */
  stopServer(): Promise<void>
  close(): Promise<void>
}
