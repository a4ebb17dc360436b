import { test } from 'tap'
import { dayMs, type Period } from '../src/periods.ts'
import { fullInDays } from '../src/room-forecast.ts'

/** Days with these free bytes, one after the other. */
const days = (free: readonly (number | null)[], totals: readonly number[] = []): Period[] =>
  free.map((bytes, day) => ({
    begins: day * dayMs,
    free: bytes,
    total: totals[day] ?? 1000,
    files: null,
    processorMs: 0,
    busyMs: 0,
    requests: 0,
  }))

test('a disk that fills by the same amount each day is full when that is used up', async (t) => {
  t.equal(fullInDays(days([160, 150, 140, 130, 120, 110, 100])), 10)
  t.equal(fullInDays(days([160, null, 140, 130, 120, 110, 100, null])), 10, 'some days are not known')
})

test('nothing is foretold without a reason', async (t) => {
  t.equal(fullInDays([]), null)
  t.equal(fullInDays(days([100, 90, 80])), null, 'too few days')
  t.equal(fullInDays(days([100, 100, 100, 100, 100, 100])), null, 'it does not fill')
  t.equal(fullInDays(days([100, 100, 100, 100, 100, 200])), null, 'it becomes emptier')
  t.equal(fullInDays(days([1000, 1000, 1000, 1000, 1000, 999])), null, 'it takes years')
  const larger = [1000, 1000, 1000, 2000, 2000, 2000]
  t.equal(fullInDays(days([600, 500, 400, 300, 200, 100], larger)), null, 'the disk was exchanged')
  const breathing = [1000, 1001, 1002, 1001, 1000, 1003]
  t.equal(fullInDays(days([600, 500, 400, 300, 200, 100], breathing)), 1, 'a size that changes a little')
})
