import type { FileResult } from './count-tests.ts'

/** The time that the tests of one part may take on two quiet processors. */
const budgetMs = 40_000

/** The time that all tests together may take on two quiet processors. */
const wholeBudgetMs = 600_000

/** The number of test processes that run at the same time: one more than processors, since some wait. */
export const jobs = 3

/**
 * The part of a test file: the test folder of its package, or its folder under `test/`. The kernel is as large as several
 * plugins, so each folder of its tests is a part: `kernel/test/http`, `kernel/test/users` and so on.
 */
export function partOf(file: string): string {
  const folders = file.split('/').slice(0, -1)
  const test = folders.indexOf('test')
  const hasDomains = test === 0 || folders[0] === 'kernel'
  return folders.slice(0, test + (hasDomains ? 2 : 1)).join('/')
}

type Timed = Pick<FileResult, 'file' | 'process' | 'ms'>

/**
 * Estimates the time of `npm test` for these files alone, in milliseconds: `jobs` processes at a time, in the order of their
 * names. Files that share a process run one after the other.
 */
export function timeAlone(files: Iterable<Timed>): number {
  const ends = Array.from({ length: jobs }, () => 0)
  const processes = Object.entries(Object.groupBy(files, ({ process }) => process))
  for (const [, shared = []] of processes.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const next = ends.indexOf(Math.min(...ends))
    ends[next] = shared.reduce((sum, { ms }) => sum + ms, ends[next] ?? 0)
  }
  return Math.max(...ends)
}

/** One line if all tests took longer than their budget, and one for each such part, slowest part first. */
export function overBudget(files: readonly Timed[]): string[] {
  const parts = Object.entries(Object.groupBy(files, ({ file }) => partOf(file)))
    .map(([part, its = []]) => [part, timeAlone(its), budgetMs] as const)
    .sort(([, a], [, b]) => b - a)
  return [['all tests', timeAlone(files), wholeBudgetMs] as const, ...parts]
    .filter(([, ms, budget]) => ms > budget)
    .map(([part, ms, budget]) => `${part} took ${seconds(ms)}; the budget is ${seconds(budget)}`)
}

/** Milliseconds for people: `1.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
