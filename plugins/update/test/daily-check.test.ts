import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setClock } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { everyDay, nextCheckIn } from '../src/daily-check.ts'

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

test('a machine that sleeps for most of the day checks every day', async (t) => {
  t.teardown(() => {
    mock.timers.reset()
    setClock(null)
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  const minuteMs = 60_000
  let clock = now.getTime()
  const pass = (ms: number) => {
    clock += ms
    setClock(new Date(clock))
  }
  pass(0)
  let triedAt = now
  let checks = 0
  const end = everyDay(
    () => triedAt,
    async () => {
      checks += 1
      triedAt = new Date()
    },
  )
  for (let days = 0; days < 10; days += 1) {
    for (let minutes = 0; minutes < 180; minutes += 1) {
      pass(minuteMs)
      mock.timers.tick(minuteMs)
      await turn()
    }
    pass(21 * hourMs)
  }
  end()
  // The random hour moves a check out of the three hours on at most each third day.
  t.ok(checks >= 6 && checks <= 10, `${checks} checks in 10 days of three hours`)
})
