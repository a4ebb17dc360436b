import { randomInt } from 'node:crypto'
import { test } from 'tap'
import { runFaults } from './run-faults.ts'
import { sharesFuzz } from './shares-fuzz.ts'

// `npm run test:faults -- shares-fuzz` sends 100,000 requests.

test('guests reach nothing outside of the shared folder', async (t) => {
  const printed: string[] = []
  const fault = {
    name: 'Links',
    defaultRounds: 1,
    round: (round: Parameters<typeof sharesFuzz>[0]) => sharesFuzz(round, 200),
  }
  const options = { seed: randomInt(2 ** 32), minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['shares-fuzz', fault]]), options)
  t.strictSame(counts, { passed: 1, failed: 0, skipped: 0 }, printed.join('\n'))
})
