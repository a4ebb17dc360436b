import assert from 'node:assert/strict'
import { withTimeLimit } from '../../concurrency/time-limit.ts'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../../errors.ts'

/**
 * Milliseconds that the suite waits for a run to end, even if a process has to be started on a busy machine. The tests of
 * the suite shorten it.
 */
export const longest = { ms: 20_000 }

/** Waits for a failure with this code of the error table. */
export async function assertFails(
  attempt: Promise<unknown>,
  code: ErrorCode,
  what: string,
): Promise<NodekeepError> {
  const thrown = await failureOf(attempt, what)
  if (!isNodekeepError(thrown))
    assert.fail(`${what} failed with ${String(thrown)}, which is no NodekeepError`)
  assert.equal(thrown.code, code, `${what}: ${thrown.message}`)
  assert.notEqual(thrown.message, '', `the error of ${what} tells a person what to do`)
  return thrown
}

/** Waits for an aborted run to end, with the reason of the signal. */
export async function assertAborted(attempt: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const thrown = await failureOf(attempt, 'an aborted run')
  assert.equal(thrown, signal.reason, 'an aborted run ends with the reason of the signal')
}

/** Waits for the end of a run, and fails after a limit. */
export function ends<Result>(running: Promise<Result>, what: string): Promise<Result> {
  const late = new assert.AssertionError({ message: `${what} has no end` })
  return withTimeLimit(running, longest.ms, late)
}

async function failureOf(attempt: Promise<unknown>, what: string): Promise<unknown> {
  const succeeded = Symbol('succeeded')
  const ended = attempt.then(
    () => succeeded,
    (thrown: unknown) => thrown,
  )
  const outcome = await ends(ended, what)
  if (outcome === succeeded) assert.fail(`${what} succeeded`)
  return outcome
}
