import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { patience } from '../soon.ts'

/** Waits for what the other side will come to by itself. Only what never happens makes it wait to the end. */
export async function until(
  happened: () => boolean,
  otherwise: string,
  withinMs = patience.ms,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!happened()) {
    if (performance.now() > end) assert.fail(otherwise)
    await setTimeout(2)
  }
}
