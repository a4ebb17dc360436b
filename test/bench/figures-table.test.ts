import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { figureRow, readFigures, withFigures } from './figures-table.ts'
import { figuresOf, goalText } from './measure.ts'
import { benchesOf, findParts } from './parts.ts'

test('each row of the README is a figure of a bench, in the order of the benches and with its goal', async (t) => {
  const rows = readFigures(await readFile(join(import.meta.dirname, 'README.md'), 'utf8'))
  const benches = await Promise.all([...(await findParts()).values()].map(benchesOf))
  const figures = benches.flat().flatMap(figuresOf)
  const names = rows.map(({ name }) => name)
  t.strictSame(
    rows.map(({ name, goal }) => ({ name, goal })),
    figures
      .filter(({ name }) => names.includes(name))
      .map((each) => ({ name: each.name, goal: goalText(each) ?? '' })),
  )
  t.equal(new Set(figures.map(({ name }) => name)).size, figures.length, 'names are unique')
})

test('measured rows replace those of the same figures, and rows without a figure go', async (t) => {
  const row = (name: string) => `| ${name} | 1 ms |  |  |  | before |\n`
  const head =
    '| Figure | Ours | Baseline | Ratio | Goal | Measured |\n| --- | --- | --- | --- | --- | --- |\n'
  const document = (rows: string) => `Text.\n<!-- figures -->\n${head}${rows}<!-- end of figures -->\nText.\n`
  const measured = figureRow(
    { bench: 'b: $&', ours: 12_345, baseline: 10, ratio: 0.5, unit: 'ms', goal: 'ratio <= 1', met: true },
    '2026-11-28 abc1234',
  )
  const written = withFigures(
    document(row('a: kept') + row('x: gone') + row('b: $&')),
    ['b: $&', 'a: kept', 'c: none'],
    [measured],
  )
  t.equal(
    written,
    document(`| b: $& | 12,300 ms | 10 ms | 0.50 | ratio <= 1 | 2026-11-28 abc1234 |\n${row('a: kept')}`),
  )
  t.strictSame(readFigures(written)[0], measured)
  t.throws(() => readFigures('Text.\n'), /no table of figures/)
})
