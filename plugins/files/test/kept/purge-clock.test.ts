import t from 'tap'
import { clockAfter } from '../../src/kept/purge-clock.ts'

const minuteMs = 60 * 1000
const hourMs = 60 * minuteMs
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

t.test('a node that runs for half an hour a week waits no longer than that', async (t) => {
  let clock = clockAfter(undefined, now, 0)
  for (let week = 1; week <= 10; week += 1) {
    clock = clockAfter(clock, clock.at + 7 * dayMs, 0)
    t.equal(clock.waitMs, 28 * minuteMs, 'as long as for every other jump of a week')
    clock = clockAfter(clock, clock.at + 28 * minuteMs, 28 * minuteMs)
    t.equal(clock.waitMs, 0)
  }
})

t.test('a longer jump within a wait makes it longer, and a shorter one not', async (t) => {
  const week = clockAfter({ at: now, waitMs: 0 }, now + 7 * dayMs, 0)
  t.equal(clockAfter(week, week.at + 3 * dayMs, 0).waitMs, week.waitMs)
  t.equal(clockAfter(week, week.at + yearMs, 0).waitMs, dayMs)
})
