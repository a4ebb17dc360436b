import { test } from 'tap'
import {
  dayMs,
  daysBefore,
  hoursBefore,
  type Measurement,
  maxDays,
  maxHours,
  type Periods,
  withMeasurement,
} from '../src/periods.ts'

const hourMs = dayMs / 24
const start = Date.UTC(2026, 0, 1)
const nothing: Periods = { hours: [], days: [] }

const measured = (more: Partial<Measurement> = {}): Measurement => ({
  free: 100,
  total: 1000,
  files: 10,
  processorMs: 100,
  busyMs: 25,
  requests: 1,
  ...more,
})

/** Adds a measurement for each hour, from the start on. */
function afterHours(count: number, before = nothing): Periods {
  let periods = before
  for (let hour = 0; hour < count; hour += 1)
    periods = withMeasurement(periods, measured(), start + hour * hourMs)
  return periods
}

const sumOfRequests = ({ hours, days }: Periods) =>
  [...hours, ...days].reduce((sum, { requests }) => sum + requests, 0)

test('the measurements of an hour become one period', async (t) => {
  const first = withMeasurement(nothing, measured({ free: 100, files: 10 }), start)
  const later = measured({ free: 90, files: null, busyMs: 75 })
  const { hours, days } = withMeasurement(first, later, start + hourMs - 1)
  t.strictSame(hours, [
    { begins: start, free: 90, total: 1000, files: 10, processorMs: 200, busyMs: 100, requests: 2 },
  ])
  t.strictSame(days, [])
})

test('what is kept is bounded, and nothing is lost or counted twice within the bound', async (t) => {
  const periods = afterHours(maxHours + 30)
  t.equal(periods.hours.length, maxHours)
  t.strictSame(
    periods.days.map(({ begins, requests }) => [begins, requests]),
    [
      [start, 24],
      [start + dayMs, 6],
    ],
  )
  t.equal(sumOfRequests(periods), maxHours + 30)
  const years = afterHours(3 * 366 * 24)
  t.equal(years.hours.length, maxHours)
  t.equal(years.days.length, maxDays)
  t.ok(JSON.stringify(years).length < 150_000)
})

test('a day has the hours that are part of it already, and those that are not', async (t) => {
  const now = start + (maxHours + 30 - 1) * hourMs
  const days = daysBefore(afterHours(maxHours + 30), now, maxDays)
  t.equal(days.length, 16)
  t.strictSame(
    days.map(({ requests }) => requests),
    [...Array(15).fill(24), 6],
  )
  t.equal(hoursBefore(afterHours(100), start + 99 * hourMs, 48).length, 48)
})

test('a clock that jumps costs one period for each jump, and what it showed is not told', async (t) => {
  const before = afterHours(maxHours)
  const now = start + maxHours * hourMs
  let periods = before
  for (const wrong of [now + 10 * 365 * dayMs, 0, now + 30 * dayMs])
    for (let minute = 0; minute < 60; minute += 5)
      periods = withMeasurement(periods, measured(), wrong + minute * 60_000)
  t.equal(periods.hours.length, maxHours)
  t.equal(sumOfRequests(periods), maxHours + 36, 'nothing is lost')
  const shown = hoursBefore(periods, now, maxHours)
  t.strictSame(shown, before.hours.slice(3))
  t.strictSame(
    daysBefore(periods, now, 15).map(({ requests }) => requests),
    Array(14).fill(24),
  )
  const after = hoursBefore(withMeasurement(periods, measured(), now), now, 2)
  t.strictSame(
    after.map(({ begins }) => begins),
    [now - hourMs, now],
  )
})
