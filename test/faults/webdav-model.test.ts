import { randomInt } from 'node:crypto'
import { test } from 'tap'
import { runFaults } from './run-faults.ts'
import webdavModel from './webdav-model.faults.ts'

const rounds = 6

test('two WebDAV clients with locks get the answers of a model', async (t) => {
  const printed: string[] = []
  const options = {
    seed: randomInt(2 ** 32),
    rounds,
    minutes: 5,
    print: (line: string) => printed.push(line),
  }
  const counts = await runFaults(new Map([['webdav-model', webdavModel]]), options)
  t.strictSame(counts, { passed: rounds, failed: 0, skipped: 0 }, printed.join('\n'))
})
