import assert from 'node:assert/strict'
import { type ErrorCode, isNodekeepError, type NodekeepError } from '../../errors.ts'
import { soon } from '../soon.ts'

/** Waits for a failure of the table with this code, and a message that says what is asked for. */
export async function assertFails(
  attempt: Promise<unknown>,
  code: ErrorCode,
  what: string,
  message = /./,
): Promise<NodekeepError> {
  const outcome = await soon(
    attempt.then(
      (result) => ({ result }),
      (thrown: unknown) => ({ thrown }),
    ),
    `${what} has no end`,
  )
  if (!('thrown' in outcome)) assert.fail(`${what} succeeded instead of failing with ${code}`)
  const { thrown } = outcome
  if (!isNodekeepError(thrown))
    assert.fail(`${what} failed with ${String(thrown)}, which is no NodekeepError`)
  assert.equal(thrown.code, code, `${what}: ${thrown.message}`)
  assert.match(thrown.message, message, what)
  return thrown
}

/** Waits for an aborted run to end, with the reason of the signal. */
export async function assertAborted(attempt: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const outcome = await soon(
    attempt.then(
      () => null,
      (thrown: unknown) => ({ thrown }),
    ),
    'an aborted run has no end',
  )
  assert.ok(outcome !== null, 'an aborted run does not succeed')
  assert.equal(outcome.thrown, signal.reason, 'an aborted run ends with the reason of the signal')
}
