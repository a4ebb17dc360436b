import type { BenchResult } from './bench.ts'

/** A result as one line of JSON, for programs. */
export function jsonLine({ met: _met, ...result }: BenchResult): string {
  return JSON.stringify(result)
}

/** The results as a table for people. It marks goals that were missed. */
export function table(results: readonly BenchResult[]): string {
  const rows = results.map(({ bench, ours, baseline, ratio, unit, goal, met }) => [
    bench,
    `${figure(ours)} ${unit}`,
    baseline === null ? '' : `${figure(baseline)} ${unit}`,
    ratio === null ? '' : ratio.toFixed(2),
    `${goal ?? ''}${met ? '' : '  MISSED'}`,
  ])
  const lines = [['bench', 'ours', 'baseline', 'ratio', 'goal'], ...rows]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A figure with three significant digits: `0.0412`, `1.27`, `48,300`. */
function figure(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 })
}
