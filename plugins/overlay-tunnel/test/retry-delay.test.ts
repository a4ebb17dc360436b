import fc from 'fast-check'
import { test } from 'tap'
import { retryDelay } from '../src/retry-delay.ts'

test('the first attempt is at once, and later ones are never far apart', async (t) => {
  const attempt = fc.integer({ min: 1, max: 10_000 })
  const random = fc.double({ min: 0, max: 1, noNaN: true })
  t.equal(retryDelay(0, 0), 0)
  fc.assert(
    fc.property(attempt, fc.integer({ min: 0, max: 59_999 }), random, (n, sinceMs, chance) => {
      const ms = retryDelay(n, sinceMs, chance)
      return ms >= 125 && ms <= 2000
    }),
  )
  fc.assert(
    fc.property(attempt, fc.integer({ min: 60_000, max: 1e9 }), random, (n, sinceMs, chance) => {
      const ms = retryDelay(n, sinceMs, chance)
      return ms >= 125 && ms <= 30_000
    }),
  )
  t.not(retryDelay(5, 0, 0), retryDelay(5, 0, 1), 'nodes that were lost together come back apart')
})
