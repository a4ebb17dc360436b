import fc from 'fast-check'
import t from 'tap'
import { RequestRate } from '../../src/chats/chat-limits.ts'

t.test('No minute has more requests than the limit, and the returned wait is exact', async (t) => {
  const gaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30_000 })), { maxLength: 100 })
  const property = fc.property(fc.integer({ min: 1, max: 8 }), gaps, (max, gaps) => {
    const rate = new RequestRate(max)
    const counted: number[] = []
    let now = 5
    for (const gap of gaps) {
      now += gap
      const recent = counted.filter((time) => time > now - 60_000)
      const wait = rate.waitMs(now)
      if (wait === 0) {
        if (recent.length >= max) return false
        rate.count(now)
        counted.push(now)
      } else {
        if (recent.length < max) return false
        if (rate.waitMs(now + wait) !== 0 || rate.waitMs(now + wait - 1) === 0) return false
      }
    }
    return counted.length === 0 || rate.waitMs(now + 60_000) === 0
  })
  fc.assert(property, { numRuns: 500 })
  t.equal(new RequestRate(1).waitMs(0), 0)
})
