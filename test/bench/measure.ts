import type { Bench, BenchResult, BenchRun } from './bench.ts'

/**
 * Runs a bench: ours and the baseline by turns, in another order each round, so that whatever else the machine
 * does meanwhile meets both.
 */
export async function measure(bench: Bench): Promise<BenchResult> {
  const medians = { ours: [] as number[], baseline: [] as number[] }
  for (let start = 0; start < (bench.starts ?? 1); start += 1) {
    const figures = await oneStart(bench)
    for (const side of ['ours', 'baseline'] as const) {
      if (figures[side].length > 0) medians[side].push(median(figures[side]))
    }
  }
  const ours = mean(medians.ours)
  const baseline = medians.baseline.length > 0 ? mean(medians.baseline) : null
  const ratio = baseline === null ? null : ours / baseline
  return { bench: bench.name, ours, baseline, ratio, unit: bench.unit, ...judge(bench, ours, ratio) }
}

async function oneStart(bench: Bench) {
  const run = await bench.setUp()
  try {
    return await rounds(run, bench.rounds ?? 5)
  } finally {
    await run.tearDown?.()
  }
}

async function rounds(run: BenchRun, count: number) {
  const figures = { ours: [] as number[], baseline: [] as number[] }
  for (let round = 0; round <= count; round += 1) {
    const sides = round % 2 === 0 ? (['baseline', 'ours'] as const) : (['ours', 'baseline'] as const)
    for (const side of sides) {
      const figure = await run[side]?.()
      if (figure !== undefined && round > 0) figures[side].push(figure)
    }
  }
  return figures
}

function judge({ better, goal, unit }: Bench, ours: number, ratio: number | null) {
  if (!goal) return { goal: null, met: true }
  const [figure, limit, text] =
    'ratio' in goal
      ? [ratio ?? Number.NaN, goal.ratio, `ratio ${sign(better)} ${goal.ratio}`]
      : [ours, goal.ours, `${sign(better)} ${goal.ours} ${unit}`]
  return { goal: text, met: better === 'more' ? figure >= limit : figure <= limit }
}

function sign(better: Bench['better']): string {
  return better === 'more' ? '>=' : '<='
}

/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  return mean(middle)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
