import { randomInt } from 'node:crypto'
import { test } from 'tap'
import files from './files.faults.ts'
import { runFaults } from './run-faults.ts'

test('a killed node loses no answered change', async (t) => {
  const printed: string[] = []
  const seed = randomInt(2 ** 32)
  const options = { seed, rounds: 2, minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['files', files]]), options)
  t.strictSame(counts, { passed: 2, failed: 0, skipped: 0 }, printed.join('\n'))
})
