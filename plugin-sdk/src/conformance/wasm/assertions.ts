import assert from 'node:assert/strict'
import { withTimeLimit } from '../../concurrency/time-limit.ts'
import type { ErrorCode, NodekeepError } from '../../errors.ts'
import { assertFails as assertFailsByCode, assertFailsWith } from '../failures.ts'

/**
 * Milliseconds that the suite waits for a run to end, even if a process has to be started on a busy machine. The tests of
 * the suite shorten it.
 */
export const longest = { ms: 20_000 }

/** Waits for a failure with this code of the error table. */
export function assertFails(
  attempt: Promise<unknown>,
  code: ErrorCode,
  what: string,
): Promise<NodekeepError> {
  return assertFailsByCode(ends(attempt, what), [code], what)
}

/** Waits for an aborted run to end, with the reason of the signal. */
export function assertAborted(attempt: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return assertFailsWith(ends(attempt, 'an aborted run'), signal.reason, 'an aborted run')
}

/** Waits for the end of a run, and fails after a limit. */
export function ends<Result>(running: Promise<Result>, what: string): Promise<Result> {
  const late = new assert.AssertionError({ message: `${what} has no end` })
  return withTimeLimit(running, longest.ms, late)
}
