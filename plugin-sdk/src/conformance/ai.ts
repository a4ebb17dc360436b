import { boundChecks } from './ai/bounds.ts'
import { endingChecks } from './ai/ending.ts'
import { failureChecks, redirectChecks } from './ai/failures.ts'
import { modelChecks } from './ai/models.ts'
import { readingChecks } from './ai/reading.ts'
import { jsonChecks, requestChecks } from './ai/requests.ts'
import type { AiCheck, AiSubject } from './ai/subject.ts'
import { textChecks } from './ai/text.ts'
import { toolChecks } from './ai/tools.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'

export {
  type ModelHttpAnswer,
  type ModelHttpRequest,
  ModelHttpServer,
  type ModelWire,
} from './ai/model-http-server.ts'
export type {
  AiSubject,
  ModelScene,
  ReceivedChat,
  ReplyScene,
  ScriptedModelServer,
  WireGap,
} from './ai/subject.ts'
export type { ConformanceTest }

/** The provider that the suite tests. The suite reads its abilities from `supports`. */
export interface AiHarness {
  /** Starts a server and makes a provider for it. Called once for each test. */
  setUp(): Promise<AiSubject>
}

/**
 * Registers the tests that every AI provider must pass. The suite works with any test runner: it registers its tests with
 * the given function.
 *
 * @example
 * import { test } from 'node:test'
 * aiConformance(test, { setUp: async () => ({ provider, models, server, stopServer, close }) })
 */
export function aiConformance(test: ConformanceTest, harness: AiHarness): void {
  const check: AiCheck = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )
  modelChecks(check)
  textChecks(check)
  requestChecks(check)
  toolChecks(check)
  jsonChecks(check)
  failureChecks(check)
  redirectChecks(check)
  boundChecks(check)
  readingChecks(check)
  endingChecks(check)
}
