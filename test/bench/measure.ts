import type { Bench, BenchResult, BenchRun, Figure } from './bench.ts'

/**
 * Runs a bench: ours and the baseline in turn, in alternating order, so that other work on the machine slows both.
 *
 * @returns a result for each figure
 */
export async function measure(bench: Bench): Promise<BenchResult[]> {
  const figures = figuresOf(bench)
  const starts: Rounds[] = []
  for (let start = 0; start < (bench.starts ?? 1); start += 1) starts.push(await oneStart(bench))
  return figures.map((figure, index) => {
    const medians = starts.map((rounds) => mediansOf(rounds, index))
    const ours = median(medians.map((start) => start.ours))
    const baseline = medianOrNull(medians.map((start) => start.baseline))
    const ratio = medianOrNull(medians.map((start) => start.ratio))
    return { bench: figure.name, ours, baseline, ratio, unit: figure.unit, ...judge(figure, ours, ratio) }
  })
}

/** All figures of a bench. */
export function figuresOf(bench: Bench): readonly Figure[] {
  return [bench, ...(bench.also ?? [])]
}

/** The figures of each round. */
interface Rounds {
  readonly ours: (readonly number[])[]
  readonly baseline: (readonly number[])[]
}

/** The medians of the rounds of one start. */
interface Medians {
  readonly ours: number
  readonly baseline: number | null
  readonly ratio: number | null
}

function mediansOf(rounds: Rounds, index: number): Medians {
  const ours = rounds.ours.map((round) => round[index] ?? Number.NaN)
  const baseline = rounds.baseline.flatMap((round) => round[index] ?? [])
  if (baseline.length === 0) return { ours: median(ours), baseline: null, ratio: null }
  // The speed of a machine changes from round to round, so each figure is compared with the baseline of its round.
  const ratios = ours.map((figure, round) => figure / (baseline[round] ?? Number.NaN))
  return { ours: median(ours), baseline: median(baseline), ratio: median(ratios) }
}

async function oneStart(bench: Bench): Promise<Rounds> {
  const run = await bench.setUp()
  try {
    return await runRounds(run, bench.rounds ?? 5, bench.fresh ? 0 : 1)
  } finally {
    await run.tearDown?.()
  }
}

async function runRounds(run: BenchRun, count: number, ignored: number): Promise<Rounds> {
  const rounds: Rounds = { ours: [], baseline: [] }
  for (let round = 0; round < count + ignored; round += 1) {
    const sides = round % 2 === 0 ? (['baseline', 'ours'] as const) : (['ours', 'baseline'] as const)
    for (const side of sides) {
      const measured = await run[side]?.()
      if (measured !== undefined && round >= ignored) rounds[side].push([measured].flat())
    }
  }
  return rounds
}

/** The goal in words, such as `ratio >= 0.9` or `<= 700 ms`; null if there is none. */
export function goalText({ better, goal, unit }: Figure): string | null {
  if (!goal) return null
  return 'ratio' in goal ? `ratio ${sign(better)} ${goal.ratio}` : `${sign(better)} ${goal.ours} ${unit}`
}

function judge(figure: Figure, ours: number, ratio: number | null) {
  const { better, goal } = figure
  if (!goal) return { goal: null, met: true }
  const [measured, limit] = 'ratio' in goal ? [ratio ?? Number.NaN, goal.ratio] : [ours, goal.ours]
  return { goal: goalText(figure), met: better === 'more' ? measured >= limit : measured <= limit }
}

function sign(better: Figure['better']): string {
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
