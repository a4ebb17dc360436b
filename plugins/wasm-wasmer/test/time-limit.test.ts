import t from 'tap'
import { isOverdue } from '../src/pool/time-limit.ts'

t.test('who hardly had a processor gets the time once more, and nobody else', async (t) => {
  const spent = (elapsedMs: number, usedMs: number, waitedMs: number) =>
    isOverdue({ elapsedMs, usedMs, waitedMs }, 1000)
  t.notOk(spent(990, 990, 0), 'before the limit')
  t.ok(spent(1000, 990, 10), 'a loop on a quiet machine')
  t.ok(spent(1000, 0, 0), 'a sleep')
  t.ok(spent(1000, 400, 600), 'a loop among others')
  t.notOk(spent(1000, 100, 850), 'the innocent on a busy machine')
  t.ok(spent(1000, 250, 4000), 'many threads that loop, and wait for each other')
  t.notOk(spent(1999, 200, 1800), 'still innocent')
  t.ok(spent(2000, 200, 1800), 'but not for ever')
})
