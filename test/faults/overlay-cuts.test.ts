import { randomInt } from 'node:crypto'
import { test } from 'tap'
import overlayCuts from './overlay-cuts.faults.ts'
import { runFaults } from './run-faults.ts'

test('of a thousand requests, none runs twice and none is whole that was cut', async (t) => {
  const printed: string[] = []
  const seed = randomInt(2 ** 32)
  const options = { seed, rounds: 1, minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['overlay-cuts', overlayCuts]]), options)
  t.strictSame(counts, { passed: 1, failed: 0, skipped: 0 }, printed.join('\n'))
})
