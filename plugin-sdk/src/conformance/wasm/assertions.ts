import assert from 'node:assert/strict'
import { withTimeLimit } from '../../concurrency/time-limit.ts'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../../errors.ts'

/** Longer than any run takes to end, even if a process has to be started on a busy machine. */
const longestMs = 20_000

/** Waits for a failure with this code of the error table, and a matching message. */
export async function assertFails(
  attempt: Promise<unknown>,
  code: ErrorCode,
  what: string,
  message = /./,
): Promise<NodekeepError> {
  const thrown = await failureOf(attempt, what)
  if (!isNodekeepError(thrown))
    assert.fail(`${what} failed with ${String(thrown)}, which is no NodekeepError`)
  assert.equal(thrown.code, code, `${what}: ${thrown.message}`)
  assert.match(thrown.message, message, what)
  return thrown
}

/** Waits for an aborted run to end, with the reason of the signal. */
export async function assertAborted(attempt: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const thrown = await failureOf(attempt, 'an aborted run')
  assert.equal(thrown, signal.reason, 'an aborted run ends with the reason of the signal')
}

async function failureOf(attempt: Promise<unknown>, what: string): Promise<unknown> {
  const succeeded = Symbol('succeeded')
  const ended = attempt.then(
    () => succeeded,
    (thrown: unknown) => thrown,
  )
  const late = new assert.AssertionError({ message: `${what} has no end` })
  const outcome = await withTimeLimit(ended, longestMs, late)
  if (outcome === succeeded) assert.fail(`${what} succeeded`)
  return outcome
}
