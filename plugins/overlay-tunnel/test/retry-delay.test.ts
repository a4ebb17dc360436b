import fc from 'fast-check'
import { test } from 'tap'
import { retryDelay } from '../src/retry-delay.ts'

const count = fc.integer({ min: 1, max: 10_000 })
const random = fc.double({ min: 0, max: 1, noNaN: true })
const failed = { isUnreachable: false, count: 1, tookMs: 1, sinceMs: 1 }

test('the first attempt is at once, and later ones are never far apart', async (t) => {
  const within = (leastMs: number, mostMs: number, least: number, most: number) =>
    fc.assert(
      fc.property(count, fc.integer({ min: leastMs, max: mostMs }), random, (count, sinceMs, chance) => {
        const ms = retryDelay({ ...failed, count, sinceMs }, chance)
        return ms >= least && ms <= most
      }),
    )
  t.equal(retryDelay({ ...failed, count: 0 }), 0)
  within(0, 59_999, 125, 2000)
  within(60_000, 1e9, 125, 30_000)
  t.not(
    retryDelay({ ...failed, count: 5 }, 0),
    retryDelay({ ...failed, count: 5 }, 1),
    'nodes come back apart',
  )
})

test('as long as nothing answers, attempts begin at most 2 seconds apart', async (t) => {
  const tookMs = fc.double({ min: 0, max: 2000, noNaN: true })
  const sinceMs = fc.integer({ min: 0, max: 1e9 })
  fc.assert(
    fc.property(count, tookMs, sinceMs, random, (count, tookMs, sinceMs, chance) => {
      const ms = retryDelay({ isUnreachable: true, count, tookMs, sinceMs }, chance)
      return ms >= 0 && tookMs + ms <= 2000
    }),
  )
  t.equal(retryDelay({ isUnreachable: true, count: 99, tookMs: 2000, sinceMs: 1e9 }), 0)
})
