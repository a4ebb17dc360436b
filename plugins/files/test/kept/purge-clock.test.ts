import t from 'tap'
import { clockAfter } from '../../src/kept/purge-clock.ts'

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs
const now = Date.UTC(2026, 10, 20)

t.test('a clock that goes as the node does is trusted, also after a night without the node', async (t) => {
  t.strictSame(clockAfter(undefined, now, 0), { at: now, waitMs: 0 })
  t.strictSame(clockAfter({ at: now, waitMs: 0 }, now + hourMs, hourMs), { at: now + hourMs, waitMs: 0 })
  t.strictSame(clockAfter({ at: now, waitMs: 0 }, now + dayMs, 0), { at: now + dayMs, waitMs: 0 })
})

for (const [direction, jump] of [
  ['forward', yearMs],
  ['back', -yearMs],
] as const) {
  t.test(`after a year ${direction}, nothing is purged for 24 hours of running time`, async (t) => {
    let clock = clockAfter({ at: now, waitMs: 0 }, now + jump + hourMs, hourMs)
    t.equal(clock.waitMs, dayMs)
    clock = clockAfter(clock, clock.at, 0)
    t.equal(clock.waitMs, dayMs, 'a restart shortens nothing')
    for (let hours = 1; hours <= 24; hours += 1) {
      t.ok(clock.waitMs > 0)
      clock = clockAfter(clock, clock.at + hourMs, hourMs)
    }
    t.equal(clock.waitMs, 0)
    t.equal(clockAfter(clock, clock.at - jump, hourMs).waitMs, dayMs, 'and again when it goes back')
  })
}
