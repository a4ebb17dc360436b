import { randomInt } from 'node:crypto'
import { test } from 'tap'
import keptModel from './kept-model.faults.ts'
import { runFaults } from './run-faults.ts'

/** Five on each kind of storage, and as many more on a disk. */
const rounds = 20

test('files, trash and versions are as in a model, with crashes and faults of the disk', async (t) => {
  const printed: string[] = []
  const seed = randomInt(2 ** 32)
  const options = { seed, rounds, minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['kept-model', keptModel]]), options)
  t.strictSame(counts, { passed: rounds, failed: 0, skipped: 0 }, printed.join('\n'))
})
