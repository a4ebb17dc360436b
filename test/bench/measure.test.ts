import { test } from 'tap'
import type { Bench } from './bench.ts'
import { measure, median } from './measure.ts'
import { jsonLine, line } from './table.ts'

const bench: Omit<Bench, 'setUp'> = { name: 'x: y', unit: 'ms', better: 'less' }

test('ours and the baseline are measured by turns, and the first round does not count', async (t) => {
  const calls: string[] = []
  const ours = [99, 1, 5, 3]
  const [result] = await measure({
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
  t.equal(result?.ratio, (result?.ours ?? 0) / 6)
})

test('the ratio is that of figures of the same round', async (t) => {
  // The machine is twice as fast in the second half.
  const ours = [0, 20, 22, 10, 11, 11]
  const baseline = [0, 10, 10, 5, 5, 5]
  const next = async (figures: number[]) => figures.shift() ?? 0
  const setUp = async () => ({ ours: () => next(ours), baseline: () => next(baseline) })
  t.match((await measure({ ...bench, setUp }))[0], { ours: 11, baseline: 5, ratio: 2.2 })
})

test('of several starts, the figures are the median of their medians', async (t) => {
  const starts: string[] = []
  const [result] = await measure({
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

test('a bench has several figures of the same rounds', async (t) => {
  const further = { name: 'x: z', unit: 'MB', better: 'more', goal: { ours: 8 } } as const
  const setUp = async () => ({ ours: async () => [3, 7], baseline: async () => [6, 7] })
  t.match(await measure({ ...bench, also: [further], setUp }), [
    { bench: 'x: y', ours: 3, ratio: 0.5, unit: 'ms', met: true },
    { bench: 'x: z', ours: 7, ratio: 1, unit: 'MB', goal: '>= 8 MB', met: false },
  ])
})

test('every round counts if each one starts everything anew', async (t) => {
  const figures = [1, 2, 9]
  const setUp = async () => ({ ours: async () => figures.shift() ?? 0 })
  t.match(await measure({ ...bench, rounds: 3, fresh: true, setUp }), [{ ours: 2 }])
  t.equal(figures.length, 0)
})

test('a goal is met from its limit on', async (t) => {
  const one = async (goal: Bench['goal'], better: Bench['better']) => {
    const [result] = await measure({
      ...bench,
      ...(goal && { goal }),
      better,
      rounds: 1,
      setUp: async () => ({ ours: async () => 10 }),
    })
    return result
  }
  t.match(await one({ ours: 10 }, 'less'), { met: true, goal: '<= 10 ms' })
  t.match(await one({ ours: 9 }, 'less'), { met: false })
  t.match(await one({ ours: 10 }, 'more'), { met: true, goal: '>= 10 ms' })
  t.match(await one({ ours: 11 }, 'more'), { met: false })
  t.match(await one(undefined, 'more'), { met: true, goal: null, baseline: null, ratio: null })
})

test('what was set up is torn down when a round fails', async (t) => {
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

test('results are printed for people and for programs', async (t) => {
  const result = {
    bench: 'a: b',
    ours: 12_345,
    baseline: 10,
    ratio: 0.5,
    unit: 'requests/s',
    goal: 'ratio >= 0.9',
    met: false,
  }
  t.match(line(result), /^12,300 requests\/s +10 requests\/s +0\.50 +ratio >= 0\.9 +MISSED {2}a: b$/)
  const { met: _met, ...printed } = result
  t.strictSame(JSON.parse(jsonLine(result)), printed)
})

test('the median', async (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
})
