import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { delayBefore } from '../../src/chats/attempts.ts'

const policy = { max: 9, firstDelayMs: 100, longestDelayMs: 1000 }
const failure = (retryAfter?: string) =>
  new NodekeepError('UPSTREAM_ERROR', 'x', retryAfter ? { headers: { 'retry-after': retryAfter } } : {})

t.test('Waits are random between 0 and a limit that doubles', async (t) => {
  for (const [retry, limit] of [100, 200, 400, 800, 1000, 1000].entries()) {
    const waits = Array.from({ length: 2000 }, () => delayBefore(retry, failure(), policy) ?? Number.NaN)
    t.ok(waits.every((wait) => wait >= 0 && wait < limit))
    t.ok(Math.max(...waits) > limit * 0.9, 'Some waits are near the limit.')
    t.ok(Math.min(...waits) < limit * 0.1, 'Some waits are near 0.')
  }
})

t.test('No wait is shorter than the wait that the provider asks for', async (t) => {
  for (let n = 0; n < 100; n += 1) t.ok(Number(delayBefore(0, failure('1'), policy)) >= 1000)
  t.equal(delayBefore(0, failure('2'), policy), null)
  t.ok(Number(delayBefore(0, failure('soon'), policy)) < 100)
  t.ok(Number(delayBefore(0, failure('-5'), policy)) < 100)
})
