import { test } from 'tap'
import type { Bench } from './bench.ts'
import { measure, median } from './measure.ts'
import { jsonLine, table } from './table.ts'

const bench: Omit<Bench, 'setUp'> = { name: 'x: y', unit: 'ms', better: 'less' }

test('the rounds measure ours and the baseline in turn, and the first round does not count', async (t) => {
  const calls: string[] = []
  const ours = [99, 1, 5, 3]
  const result = await measure({
    ...bench,
    rounds: 3,
    goal: { ratio: 0.5 },
    setUp: async () => ({
      ours: async () => ours[calls.push('ours') >> 1] ?? 0,
      baseline: async () => {
        calls.push('baseline')
        return 6
      },
      tearDown: async () => {
        calls.push('tearDown')
      },
    }),
  })
  t.strictSame(calls, [
    'baseline',
    'ours',
    'ours',
    'baseline',
    'baseline',
    'ours',
    'ours',
    'baseline',
    'tearDown',
  ])
  t.match(result, { bench: 'x: y', baseline: 6, unit: 'ms', goal: 'ratio <= 0.5' })
  t.equal(result.ratio, result.ours / 6)
})

test('the ratio compares figures of the same round', async (t) => {
  // The machine is twice as fast in the second half.
  const ours = [0, 20, 22, 10, 11, 11]
  const baseline = [0, 10, 10, 5, 5, 5]
  const next = async (figures: number[]) => figures.shift() ?? 0
  const setUp = async () => ({ ours: () => next(ours), baseline: () => next(baseline) })
  t.match(await measure({ ...bench, setUp }), { ours: 11, baseline: 5, ratio: 2.2 })
})

test('the figures of several starts are the median of their medians', async (t) => {
  const starts: string[] = []
  const result = await measure({
    ...bench,
    rounds: 3,
    starts: 2,
    setUp: async () => {
      starts.push('up')
      const ours = starts.length === 1 ? [99, 1, 2, 9] : [99, 4, 4, 4]
      return {
        ours: async () => ours.shift() ?? 0,
        baseline: async () => 6,
        tearDown: async () => {
          starts.push('down')
        },
      }
    },
  })
  t.strictSame(starts, ['up', 'down', 'up', 'down'])
  t.match(result, { ours: 3, baseline: 6, ratio: 0.5 })
})

test('a goal is met at its limit and beyond', async (t) => {
  const one = (goal: Bench['goal'], better: Bench['better']) =>
    measure({
      ...bench,
      ...(goal && { goal }),
      better,
      rounds: 1,
      setUp: async () => ({ ours: async () => 10 }),
    })
  t.match(await one({ ours: 10 }, 'less'), { met: true, goal: '<= 10 ms' })
  t.match(await one({ ours: 9 }, 'less'), { met: false })
  t.match(await one({ ours: 10 }, 'more'), { met: true, goal: '>= 10 ms' })
  t.match(await one({ ours: 11 }, 'more'), { met: false })
  t.match(await one(undefined, 'more'), { met: true, goal: null, baseline: null, ratio: null })
})

test('a failed round tears down its setup', async (t) => {
  let down = false
  const run = {
    ours: () => Promise.reject(new Error('no luck')),
    tearDown: async () => {
      down = true
    },
  }
  await t.rejects(measure({ ...bench, setUp: async () => run }), /no luck/)
  t.ok(down)
})

test('the results are printed as a table and as JSON', async (t) => {
  const result = {
    bench: 'a: b',
    ours: 12_345,
    baseline: 10,
    ratio: 0.5,
    unit: 'requests/s',
    goal: 'ratio >= 0.9',
    met: false,
  }
  t.match(
    table([result]),
    /^a: b {3}12,300 requests\/s {2}10 requests\/s {2}0\.50 {3}ratio >= 0\.9 {2}MISSED$/m,
  )
  const { met: _met, ...printed } = result
  t.strictSame(JSON.parse(jsonLine(result)), printed)
})

test('the median is the middle value', async (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
})
