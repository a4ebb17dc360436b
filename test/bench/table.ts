import type { BenchResult } from './bench.ts'

/** A result as one line of JSON, for programs. */
export function jsonLine({ met: _met, ...result }: BenchResult): string {
  return JSON.stringify(result)
}

/** Characters of the columns before the name, which may be long. */
const widths = [22, 22, 5, 20, 6]

/** The head of the lines that {@link line} makes. */
export const heading: string = cells(['ours', 'baseline', 'ratio', 'goal', '', 'bench'])

/** A result as one line for people. It marks a goal that was missed. */
export function line({ bench, ours, baseline, ratio, unit, goal, met }: BenchResult): string {
  return cells([
    `${figure(ours)} ${unit}`,
    baseline === null ? '' : `${figure(baseline)} ${unit}`,
    ratio === null ? '' : ratio.toFixed(2),
    goal ?? '',
    met ? '' : 'MISSED',
    bench,
  ])
}

function cells(row: readonly string[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
}

/** A figure with three significant digits: `0.0412`, `1.27`, `48,300`. */
export function figure(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 })
}
