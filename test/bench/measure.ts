import type { Bench, BenchResult, BenchRun } from './bench.ts'

/**
 * Runs a bench: ours and the baseline in turn, in alternating order, so that other work on the machine slows both.
 */
export async function measure(bench: Bench): Promise<BenchResult> {
  const starts: Medians[] = []
  for (let start = 0; start < (bench.starts ?? 1); start += 1) starts.push(mediansOf(await oneStart(bench)))
  const ours = median(starts.map((start) => start.ours))
  const baseline = medianOrNull(starts.map((start) => start.baseline))
  const ratio = medianOrNull(starts.map((start) => start.ratio))
  return { bench: bench.name, ours, baseline, ratio, unit: bench.unit, ...judge(bench, ours, ratio) }
}

/** The medians of the rounds of one start. */
interface Medians {
  readonly ours: number
  readonly baseline: number | null
  readonly ratio: number | null
}

function mediansOf({ ours, baseline }: { ours: number[]; baseline: number[] }): Medians {
  if (baseline.length === 0) return { ours: median(ours), baseline: null, ratio: null }
  // The speed of a machine changes from round to round, so each figure is compared with the baseline of its round.
  const ratios = ours.map((figure, round) => figure / (baseline[round] ?? Number.NaN))
  return { ours: median(ours), baseline: median(baseline), ratio: median(ratios) }
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

function medianOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? median(known) : null
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
