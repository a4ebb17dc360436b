import type { BenchResult } from './bench.ts'
import { figure } from './table.ts'

/** A row of the table of figures in README.md. The cells are text. */
interface FigureRow {
  /** The name of the figure. */
  readonly name: string
  readonly ours: string
  readonly baseline: string
  readonly ratio: string
  readonly goal: string
  /** The day and the commit of the measurement. */
  readonly measured: string
}

const [begin, end] = ['<!-- figures -->\n', '<!-- end of figures -->\n'] as const

const columns = ['Figure', 'Ours', 'Baseline', 'Ratio', 'Goal', 'Measured']

/**
 * Returns the rows of the table between the two comments of a document.
 *
 * @throws Error if the document has no such table, or a row has another number of cells
 */
export function readFigures(document: string): FigureRow[] {
  const [, ...lines] = tableOf(document).trimEnd().split('\n').slice(1)
  return lines.map((line) => {
    const cells = line.split('|').slice(1, -1)
    if (cells.length !== columns.length) throw new Error(`This row of the figures has not six cells: ${line}`)
    const [name = '', ours = '', baseline = '', ratio = '', goal = '', measured = ''] = cells.map((cell) =>
      cell.trim(),
    )
    return { name, ours, baseline, ratio, goal, measured }
  })
}

/**
 * Replaces the rows of some figures in the table of a document. The other rows stay if there still is such a figure.
 *
 * @param names all figures, in the order of the table
 */
export function withFigures(document: string, names: readonly string[], rows: readonly FigureRow[]): string {
  const known = new Map([...readFigures(document), ...rows].map((row) => [row.name, row]))
  const lines = names.flatMap((name) => {
    const row = known.get(name)
    return row ? [[row.name, row.ours, row.baseline, row.ratio, row.goal, row.measured]] : []
  })
  const text = [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`)
  // A function, since a text could hold patterns such as `$&`.
  return document.replace(`${begin}${tableOf(document)}`, () => `${begin}${text.join('')}`)
}

/** @param measured the day and the commit */
export function figureRow(
  { bench, ours, baseline, ratio, unit, goal }: BenchResult,
  measured: string,
): FigureRow {
  return {
    name: bench,
    ours: `${figure(ours)} ${unit}`,
    baseline: baseline === null ? '' : `${figure(baseline)} ${unit}`,
    ratio: ratio === null ? '' : ratio.toFixed(2),
    goal: goal ?? '',
    measured,
  }
}

function tableOf(document: string): string {
  const table = document.split(begin)[1]?.split(end)[0]
  if (table === undefined) throw new Error(`The document has no table of figures after "${begin.trim()}".`)
  return table
}
