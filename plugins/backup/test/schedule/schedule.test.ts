import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setClock } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { Schedule, scheduleProblem } from '../../src/schedule/schedule.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const noon = new Date(2026, 10, 22, 12)
const nightly = '30 3 * * *'

test('a wrong expression has a problem, which says what to write', async (t) => {
  t.equal(scheduleProblem(nightly), null)
  for (const wrong of ['', 'every night', '61 * * * *', '* * * *', '30 3 * * foo'])
    t.match(scheduleProblem(wrong), /^is no cron expression: .*Write one such as "30 3 \* \* \*"/, wrong)
  t.match(scheduleProblem('0 0 30 2 *'), /never due\. Write one/)
})

/** Starts a schedule whose time passes by `pass` only, and whose clock can be set meanwhile. */
function start(t: Test, expression: string, { now = noon, lastRun = null as Date | null } = {}) {
  let clock = now.getTime()
  const set = (moment: Date) => {
    clock = moment.getTime()
    setClock(moment)
  }
  set(now)
  mock.timers.enable({ apis: ['setTimeout'] })
  const runs: string[] = []
  const schedule = new Schedule(expression, lastRun)
  t.teardown(() => {
    schedule.end()
    mock.timers.reset()
    setClock(null)
  })
  schedule.start(async () => {
    runs.push(local(new Date()))
  })
  return {
    runs,
    set,
    next: () => schedule.next && local(schedule.next),
    isLate: () => schedule.due !== null && schedule.due.getTime() < Date.now(),
    async pass(ms: number, stepMs = minuteMs) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        set(new Date(clock + stepMs))
        mock.timers.tick(stepMs)
        await turn()
      }
    },
  }
}

/** The minute, in the time zone of the machine. */
function local(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * minuteMs).toISOString().slice(0, 16)
}

test('it runs at each due time, and tells the next one', async (t) => {
  const { runs, next, pass } = start(t, nightly)
  t.equal(next(), '2026-11-23T03:30')
  await pass(2 * dayMs)
  t.strictSame(runs, ['2026-11-23T03:30', '2026-11-24T03:30'])
  t.equal(next(), '2026-11-25T03:30')
})

test('a missed run is made up for once, and nothing is missed before the first run', async (t) => {
  const missed = start(t, nightly, { lastRun: new Date(noon.getTime() - 3 * dayMs) })
  await missed.pass(hourMs)
  t.strictSame(missed.runs, ['2026-11-22T12:00'], 'three nights were missed')
  mock.timers.reset()
  const first = start(t, nightly)
  await first.pass(hourMs)
  t.strictSame(first.runs, [])
})

test('a timer that ends early makes no second run', async (t) => {
  const { runs, set, pass } = start(t, nightly)
  await pass(15.5 * hourMs - 1000)
  set(new Date(2026, 10, 23, 3, 29, 59, 900))
  mock.timers.tick(1000)
  await turn()
  await pass(hourMs)
  t.match(runs, { length: 1 })
})

test('a last run in the future does not hold up the next one', async (t) => {
  for (const ahead of [new Date(2099, 0, 1), new Date(noon.getTime() + 2 * dayMs)]) {
    const { runs, next, pass, isLate } = start(t, nightly, { lastRun: ahead })
    t.equal(next(), '2026-11-23T03:30')
    await pass(dayMs)
    t.strictSame(runs, ['2026-11-23T03:30'])
    t.notOk(isLate())
    mock.timers.reset()
  }
})

test('a clock that jumps forward and comes back holds up nothing', async (t) => {
  const { runs, set, next, pass } = start(t, nightly)
  await pass(hourMs)
  set(new Date(2099, 0, 1, 3, 29))
  await pass(hourMs)
  t.strictSame(runs, ['2099-01-01T03:30'], 'it is due by that clock, once')
  set(new Date(2026, 10, 22, 14))
  await pass(dayMs)
  t.strictSame(runs.slice(1), ['2026-11-23T03:30'])
  t.equal(next(), '2026-11-24T03:30')
})

test('a due time has one run, however the clock is set', async (t) => {
  const { runs, set, pass } = start(t, nightly)
  await pass(16 * hourMs)
  t.match(runs, { length: 1 })
  for (const hours of [2, 1, 3, 0, 2]) {
    set(new Date(2026, 10, 23, hours))
    await pass(2 * hourMs)
  }
  set(new Date(2026, 10, 23, 1))
  await pass(4 * hourMs)
  t.strictSame(runs, ['2026-11-23T03:30'])
  await pass(dayMs)
  t.strictSame(runs, ['2026-11-23T03:30', '2026-11-24T03:30'])
})

test('a clock that starts in 1970 makes up for nothing when it is set', async (t) => {
  const { runs, set, next, pass } = start(t, nightly, {
    now: new Date(1970, 0, 1, 1),
    lastRun: new Date(2026, 10, 22, 3, 30, 1),
  })
  await pass(10 * minuteMs)
  set(noon)
  await pass(dayMs)
  t.strictSame(runs, ['2026-11-23T03:30'])
  t.equal(next(), '2026-11-24T03:30')
})
