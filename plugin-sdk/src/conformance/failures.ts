import assert from 'node:assert/strict'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../errors.ts'

/** Waits for a failure, and returns its error. An attempt that a time limit of the suite ended fails the test. */
export async function failureOf(attempt: Promise<unknown>, what: string): Promise<unknown> {
  const outcome = await attempt.then(
    () => null,
    (thrown: unknown) => ({ thrown }),
  )
  if (outcome === null) assert.fail(`${what} succeeded`)
  if (outcome.thrown instanceof assert.AssertionError) throw outcome.thrown
  return outcome.thrown
}

/** Waits for a failure with one of the codes. */
export async function assertFails(
  attempt: Promise<unknown>,
  codes: readonly ErrorCode[],
  what: string,
): Promise<NodekeepError> {
  return assertCode(await failureOf(attempt, what), codes, what)
}

/** Expects a NodekeepError with one of the codes and with a message. */
export function assertCode(thrown: unknown, codes: readonly ErrorCode[], what: string): NodekeepError {
  if (!isNodekeepError(thrown)) {
    assert.fail(`${what} failed with ${String(thrown)}, which is not a NodekeepError`)
  }
  assert.ok(
    codes.includes(thrown.code),
    `${what} failed with ${thrown.code} (${thrown.message}) instead of ${codes.join(' or ')}`,
  )
  assert.notEqual(thrown.message, '', `the error of ${what} tells a person what to do`)
  return thrown
}

/** Waits for an aborted call to end, with the reason of the signal or with a NodekeepError. */
export async function assertAborted(
  attempt: Promise<unknown>,
  signal: AbortSignal,
  what = 'an aborted call',
): Promise<void> {
  const thrown = await failureOf(attempt, what)
  assert.ok(
    thrown === signal.reason || isNodekeepError(thrown),
    `${what} ends with the signal's reason or a NodekeepError, not with ${String(thrown)}`,
  )
}
