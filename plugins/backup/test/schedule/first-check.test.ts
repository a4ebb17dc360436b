import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setClock } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { firstCheck } from '../../src/schedule/first-check.ts'
import { Schedule } from '../../src/schedule/schedule.ts'

/** A state that outlives the starts of a test. */
function createState(isFull = false) {
  const values = new Map<string, unknown>()
  return {
    async get<T>(key: string) {
      return values.get(key) as T | undefined
    },
    async set(key: string, value: unknown) {
      if (isFull) throw new Error('The disk is full.')
      values.set(key, value)
    },
  }
}

test('a machine that is off at night makes up for runs, also after a run with a clock that was ahead', async (t) => {
  t.teardown(() => {
    mock.timers.reset()
    setClock(null)
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  const state = createState()
  const runs: number[] = []
  let lastRun = new Date(2036, 0, 1)
  for (const day of [22, 23, 24]) {
    setClock(new Date(2026, 10, day, 9))
    const schedule = new Schedule('30 3 * * *', lastRun, await firstCheck(state, lastRun))
    schedule.start(async () => {
      runs.push(day)
      lastRun = new Date()
    })
    for (let hour = 9; hour < 17; hour += 1) {
      setClock(new Date(2026, 10, day, hour))
      mock.timers.tick(60 * 60_000)
      await turn()
    }
    schedule.end()
  }
  t.strictSame(runs, [23, 24], 'one run for each night that was missed for certain')
})

test('the first check belongs to one last run, and is never in the future', async (t) => {
  t.teardown(() => setClock(null))
  const state = createState()
  const at = async (now: string, lastRun: string | null) => {
    setClock(new Date(now))
    const look = await firstCheck(state, lastRun === null ? null : new Date(lastRun))
    return look?.toISOString().slice(0, 10) ?? null
  }
  t.equal(await at('2026-11-22', null), null)
  t.equal(await at('2026-11-22', '2026-11-21'), null)
  t.equal(await at('2026-11-22', '2036-01-01'), '2026-11-22')
  t.equal(await at('2026-11-24', '2036-01-01'), '2026-11-22')
  t.equal(await at('2026-11-25', '2037-01-01'), '2026-11-25')
  t.equal(await at('1970-01-01', '2037-01-01'), '1970-01-01')
  setClock(new Date('2026-11-22'))
  t.ok(await firstCheck(createState(true), new Date('2036-01-01')), 'also on a full disk')
})
