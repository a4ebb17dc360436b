import assert from 'node:assert/strict'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../../errors.ts'

/** Longer than any end takes, also where a process has to be started for it on a busy machine. */
const longestMs = 20_000

/** Waits for a failure of the table with this code, and a message that says what is asked for. */
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
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} has no end` })), longestMs)
  })
  const succeeded = Symbol('succeeded')
  const outcome = await Promise.race([
    attempt.then(
      () => succeeded,
      (thrown: unknown) => thrown,
    ),
    late,
  ]).finally(() => clearTimeout(timer))
  if (outcome === succeeded) assert.fail(`${what} succeeded`)
  return outcome
}
