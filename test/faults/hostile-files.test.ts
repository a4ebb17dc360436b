import { randomInt } from 'node:crypto'
import { test } from 'tap'
import { hostileRound } from './hostile-round.ts'
import { runFaults } from './run-faults.ts'

// `npm run test:faults -- hostile-files` has 10,000 files, and a limit for the time of `/health`.

test('hostile files crash nothing, and reach nothing outside', async (t) => {
  const printed: string[] = []
  const fault = {
    name: 'Hostile files',
    defaultRounds: 1,
    round: (round: Parameters<typeof hostileRound>[0]) =>
      hostileRound(round, { files: 100, slowestHealthMs: Number.POSITIVE_INFINITY }),
  }
  const options = { seed: randomInt(2 ** 32), minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['hostile-files', fault]]), options)
  t.strictSame(counts, { passed: 1, failed: 0, skipped: 0 }, printed.join('\n'))
})
