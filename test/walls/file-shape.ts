import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const vague = /^(utils?|helpers?|misc|common|manager|.*-(utils?|helpers?|manager))$/

/** How long the source files are, in lines. */
export interface FileLengths {
  readonly median: number
  readonly p95: number
}

/**
 * Checks that file names are lower-case words joined by dashes, and none of the names that say nothing.
 *
 * @returns one line for each file that breaks this, and the lengths of the source files
 */
export function checkFileShapes(
  root: string,
  files: readonly string[],
): { readonly breaches: readonly string[]; readonly lengths: FileLengths } {
  const breaches = files.flatMap(checkName)
  const lengths = files.filter((file) => /(^|\/)src\//.test(file)).map((file) => countLines(join(root, file)))
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
