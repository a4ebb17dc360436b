import assert from 'node:assert/strict'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../../errors.ts'
import { type Heard, textOf } from './chatting.ts'
import type { AiSubject } from './subject.ts'

/** Expects an error of the table with one of the codes, which gives no key away. */
export function assertCode(
  thrown: unknown,
  codes: readonly ErrorCode[],
  { key }: Pick<AiSubject, 'key'>,
): NodekeepError {
  if (!isNodekeepError(thrown)) assert.fail(`${String(thrown)} is no NodekeepError`)
  assert.ok(codes.includes(thrown.code), `${thrown.code} (${thrown.message}) is none of ${codes.join(', ')}`)
  assert.notEqual(thrown.message, '', 'an error tells a person what to do')
  assert.ok(key === undefined || !thrown.message.includes(key), 'no message of an error holds the key')
  return thrown
}

export function assertUpstream(thrown: unknown, subject: AiSubject): NodekeepError {
  return assertCode(thrown, ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'], subject)
}

/** Expects that a reply failed after what the server said of it, and did not pretend to be whole. */
export function assertBrokenOff(heard: Heard, said: readonly string[], subject: AiSubject): void {
  const { deltas, failure } = heard
  assert.ok(!deltas.some(({ type }) => type === 'finish'), 'a reply that breaks off has no "finish"')
  assert.ok(failure !== undefined, 'a reply that breaks off ends with an error, not as if it were whole')
  assert.ok(said.join('').startsWith(textOf(deltas)), 'what came is what the server said')
  assertUpstream(failure.thrown, subject)
}

/** Expects what an aborted call may throw: the reason of the signal, or an error by which the call ended. */
export function assertEnded(thrown: unknown, signal: AbortSignal): void {
  const error = thrown instanceof Error || thrown === signal.reason
  assert.ok(error, `an aborted call ends with the signal's reason or an error, not with ${String(thrown)}`)
}
