import { randomInt } from 'node:crypto'
import { test } from 'tap'
import { runFaults } from './run-faults.ts'
import { webdavRequestsRound } from './webdav-requests-round.ts'

// `npm run test:faults -- webdav-requests` sends 100,000 requests.

test('requests to WebDAV that are wrong in any way are answered without a status from 500', async (t) => {
  const printed: string[] = []
  const fault = {
    name: 'Odd requests',
    defaultRounds: 1,
    round: (round: Parameters<typeof webdavRequestsRound>[0]) => webdavRequestsRound(round, 1000),
  }
  const options = { seed: randomInt(2 ** 32), minutes: 5, print: (line: string) => printed.push(line) }
  const counts = await runFaults(new Map([['webdav-requests', fault]]), options)
  t.strictSame(counts, { passed: 1, failed: 0, skipped: 0 }, printed.join('\n'))
})
