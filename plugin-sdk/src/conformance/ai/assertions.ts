import assert from 'node:assert/strict'
import type { ErrorCode, NodekeepError } from '../../errors.ts'
import { assertCode, told } from '../failures.ts'
import { type Heard, textOf } from './chatting.ts'
import type { AiSubject } from './subject.ts'

/** Expects a NodekeepError with one of the codes, whose message does not contain the key. */
export function assertFailed(
  thrown: unknown,
  codes: readonly ErrorCode[],
  { key }: Pick<AiSubject, 'key'>,
): NodekeepError {
  const error = assertCode(thrown, codes, 'a chat')
  assert.ok(key === undefined || !error.message.includes(key), 'no error message contains the key')
  return error
}

export function assertUpstream(thrown: unknown, subject: AiSubject): NodekeepError {
  return assertFailed(thrown, ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'], subject)
}

/** Expects that a reply failed after the text that the server sent, and did not seem complete. */
export function assertBrokenOff(heard: Heard, said: readonly string[], subject: AiSubject): void {
  const { deltas, failure } = heard
  assert.ok(!deltas.some(({ type }) => type === 'finish'), 'a reply that breaks off has no "finish"')
  assert.ok(failure !== undefined, 'a reply that breaks off ends with an error, not as if it were complete')
  assert.ok(said.join('').startsWith(textOf(deltas)), 'the text is what the server sent')
  assertUpstream(failure.thrown, subject)
}

/** Expects the error of an aborted call: the reason of the signal, or another error. */
export function assertEnded(thrown: unknown, signal: AbortSignal): void {
  const error = thrown instanceof Error || thrown === signal.reason
  assert.ok(error, `an aborted call ends with the signal's reason or an error, not with ${told(thrown)}`)
}
