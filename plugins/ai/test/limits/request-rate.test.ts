import fc from 'fast-check'
import t from 'tap'
import { RequestRate } from '../../src/limits/request-rate.ts'

t.test('no minute ever has more than the limit, and the wait that is told is exactly enough', async (t) => {
  const gaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30_000 })), { maxLength: 100 })
  const property = fc.property(fc.integer({ min: 1, max: 8 }), gaps, (max, gaps) => {
    const rate = new RequestRate(max)
    const counted: number[] = []
    let now = 5
    for (const gap of gaps) {
      now += gap
      const recent = counted.filter((time) => time > now - 60_000)
      const wait = rate.wait(now)
      if (wait === 0) {
        if (recent.length >= max) return false
        rate.count(now)
        counted.push(now)
      } else {
        if (recent.length < max) return false
        if (rate.wait(now + wait) !== 0 || rate.wait(now + wait - 1) === 0) return false
      }
      if (rate.isIdle(now)) return false
    }
    return counted.length === 0 || (rate.isIdle(now + 60_000) && rate.wait(now + 60_000) === 0)
  })
  fc.assert(property, { numRuns: 500 })
  t.ok(new RequestRate(1).isIdle(0))
})
