import { setTimeout } from 'node:timers/promises'
import t, { test } from 'tap'
import { runOnSchedule, Schedule, scheduleProblem } from '../../src/schedule/schedule.ts'

test('a schedule tells the due times after a moment', async (t) => {
  const nightly = new Schedule('30 3 * * *')
  const due = nightly.after(new Date(2026, 10, 22, 12))
  t.strictSame(due, new Date(2026, 10, 23, 3, 30))
  t.strictSame(nightly.after(due as Date), new Date(2026, 10, 24, 3, 30), 'the due time itself is over')
})

test('a wrong expression has a problem, which says what to write', async (t) => {
  t.equal(scheduleProblem('30 3 * * *'), null)
  for (const wrong of ['', 'every night', '61 * * * *', '* * * *', '30 3 * * foo'])
    t.match(scheduleProblem(wrong), /^is no cron expression: .*Write one such as "30 3 \* \* \*"/, wrong)
  t.match(scheduleProblem('0 0 30 2 *'), /never due\. Write one/)
})

// The timers of a schedule do not keep a process alive.
const alive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(alive))

test('a missed run is made up for once, and a failed one does not repeat at once', async (t) => {
  let runs = 0
  const ran = Promise.withResolvers<void>()
  const threeDaysAgo = new Date(Date.now() - 3 * 86_400_000)
  const end = runOnSchedule(new Schedule('0 4 * * *'), threeDaysAgo, async () => {
    runs += 1
    ran.resolve()
  })
  t.teardown(end)
  await ran.promise
  await setTimeout(20)
  t.equal(runs, 1, 'three nights were missed')
})

test('nothing is missed before the first run', async (t) => {
  const end = runOnSchedule(new Schedule('0 4 * * *'), null, async () => void t.fail('it ran'))
  await setTimeout(20)
  end()
})
