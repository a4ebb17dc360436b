import type { FileResult } from './count-tests.ts'

/** What the test files of one part may take together, so that the whole stays under six minutes. */
export const budgetMs = 40_000

/**
 * The part of a test file: its package's test folder, or its folder under `test/`. The kernel is as large as several
 * plugins, so that each domain of it is a part: `kernel/test/http`, `kernel/test/identity` and so on.
 */
export function partOf(file: string): string {
  const folders = file.split('/').slice(0, -1)
  const test = folders.indexOf('test')
  const hasDomains = test === 0 || folders[0] === 'kernel'
  return folders.slice(0, test + (hasDomains ? 2 : 1)).join('/')
}

/** One line for each part whose files took longer than the budget, slowest part first. */
export function overBudget(files: Iterable<Pick<FileResult, 'file' | 'ms'>>): string[] {
  const parts = new Map<string, number>()
  for (const { file, ms } of files) parts.set(partOf(file), (parts.get(partOf(file)) ?? 0) + ms)
  return [...parts]
    .filter(([, ms]) => ms > budgetMs)
    .sort(([, a], [, b]) => b - a)
    .map(([part, ms]) => `${part} took ${seconds(ms)}; its budget is ${seconds(budgetMs)}`)
}

/** Milliseconds as people read them: `1.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
