import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

/** How long the suites wait for what should come at once, in milliseconds. Tests of the suites themselves have less. */
export const patience = { ms: 5000 }

/** Waits for what should come at once. Only who never answers makes it wait to the end, which is an error then. */
export async function soon<T>(awaited: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: otherwise })), patience.ms)
  })
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer))
}

/** Waits until a condition of the other side holds, and fails after a limit. */
export async function until(
  condition: () => boolean,
  otherwise: string,
  withinMs = patience.ms,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!condition()) {
    if (performance.now() > end) assert.fail(otherwise)
    await delay(2)
  }
}
