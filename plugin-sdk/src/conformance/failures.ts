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

/** Waits for a failure with this very error, such as the reason of a signal or an error of the caller. */
export async function assertFailsWith(
  attempt: Promise<unknown>,
  error: unknown,
  what: string,
): Promise<void> {
  const thrown = await failureOf(attempt, what)
  assert.ok(thrown === error, `${what} failed with ${told(thrown)} instead of ${told(error)}`)
}

/** Expects a NodekeepError with one of the codes and with a message. */
export function assertCode(thrown: unknown, codes: readonly ErrorCode[], what: string): NodekeepError {
  if (!isNodekeepError(thrown)) {
    assert.fail(`${what} failed with ${told(thrown)}, which is not a NodekeepError`)
  }
  assert.ok(
    codes.includes(thrown.code),
    `${what} failed with ${thrown.code} (${told(thrown)}) instead of ${codes.join(' or ')}`,
  )
  assert.notEqual(thrown.message, '', `the error of ${what} tells a person what to do`)
  return thrown
}

/** Longest chain of causes that is told. A cause may be its own cause. */
const maxCauses = 5

/** Returns the message of an error with those of its causes. The message of a NodekeepError often hides the reason. */
export function told(thrown: unknown): string {
  const messages: string[] = []
  let error = thrown
  do {
    messages.push(isNodekeepError(error) ? error.message : String(error))
    error = error instanceof Error ? error.cause : undefined
  } while (error !== undefined && messages.length < maxCauses)
  return messages.join(', because of ')
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
    `${what} ends with the signal's reason or a NodekeepError, not with ${told(thrown)}`,
  )
}
