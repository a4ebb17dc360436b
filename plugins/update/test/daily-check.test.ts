import { test } from 'tap'
import { nextCheckIn } from '../src/daily-check.ts'

const hourMs = 60 * 60_000
const now = new Date('2026-11-23T10:00:00Z')
const before = (hours: number) => new Date(now.getTime() - hours * hourMs)

test('a check is due a day after the last one, at a random time of the hour', async (t) => {
  t.equal(
    nextCheckIn(before(0), now, () => 0),
    24 * hourMs + 60_000,
  )
  t.equal(
    nextCheckIn(before(0), now, () => 0.5),
    24.5 * hourMs + 60_000,
  )
  t.equal(
    nextCheckIn(before(10), now, () => 0),
    14 * hourMs + 60_000,
  )
})

test('the first check, and one that was missed, come soon', async (t) => {
  for (const last of [null, before(24), before(24 * 30)]) {
    t.equal(
      nextCheckIn(last, now, () => 0),
      60_000,
    )
    t.ok(nextCheckIn(last, now, () => 0.999) < hourMs + 60_000)
  }
})

test('a clock that was set back does not put the check off', async (t) => {
  t.equal(
    nextCheckIn(new Date('2031-01-01'), now, () => 0),
    60_000,
  )
})
