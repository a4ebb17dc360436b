import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { withTimeLimit } from '../concurrency/time-limit.ts'

/** Milliseconds that the suites wait for an event that should happen at once, on a machine that is busy. The tests of the suites shorten it. */
export const timeLimit = { ms: 20_000 }

/** Waits for an event that should happen at once, and fails after a limit. */
export function soon<T>(awaited: Promise<T>, otherwise: string): Promise<T> {
  return withTimeLimit(awaited, timeLimit.ms, new assert.AssertionError({ message: otherwise }))
}

/** Waits until a condition of the other side holds, and fails after a limit. */
export async function until(
  condition: () => boolean,
  otherwise: string,
  withinMs = timeLimit.ms,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!condition()) {
    if (performance.now() > end) assert.fail(otherwise)
    await delay(2)
  }
}
