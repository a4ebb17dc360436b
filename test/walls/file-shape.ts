import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const longest = 220
const vague = /^(utils?|helpers?|misc|common|manager|.*-(utils?|helpers?|manager))$/

/** How long the source files are, in lines. */
export interface FileLengths {
  readonly median: number
  readonly p95: number
}

/**
 * One idea per file: no file but a test has more than 220 lines, names are lower-case words joined by dashes, and no
 * file is called after nothing in particular.
 *
 * @returns one line for each file that breaks it, and the lengths of those outside test folders
 */
export function checkFileShapes(
  root: string,
  files: readonly string[],
): { readonly breaches: readonly string[]; readonly lengths: FileLengths } {
  const shapes = files.map((file) => ({ file, lines: countLines(join(root, file)) }))
  const breaches = shapes.flatMap(({ file, lines }) => [
    ...(lines > longest && !file.endsWith('.test.ts')
      ? [`${file}: ${lines} lines; split it by its ideas (at most ${longest})`]
      : []),
    ...checkName(file),
  ])
  const lengths = shapes.filter(({ file }) => /(^|\/)src\//.test(file)).map(({ lines }) => lines)
  return { breaches, lengths: { median: quantile(lengths, 0.5), p95: quantile(lengths, 0.95) } }
}

function checkName(file: string): string[] {
  const name = basename(file).replace(/(\.(test|bench|faults|types|d))?\.ts$/, '')
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return [`${file}: name it in lower-case words joined by dashes`]
  return vague.test(name) ? [`${file}: name it after what is in it`] : []
}

function countLines(file: string): number {
  return readFileSync(file, 'utf8').replace(/\n$/, '').split('\n').length
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(q * sorted.length) - 1] ?? 0
}
