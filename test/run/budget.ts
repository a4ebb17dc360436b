import type { FileResult } from './count-tests.ts'

/** What the tests of one part may take on two processors, so that the whole stays under six minutes. */
export const budgetMs = 40_000

/** How many test files run at the same time: one more than there are processors, as some wait while others work. */
export const jobs = 3

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

type Timed = Pick<FileResult, 'file' | 'process' | 'ms'>

/**
 * What `npm test` takes for these files alone: as many processes at a time as there are jobs, in the order of their
 * names. Files that share a process come one after the other.
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

/** One line for each part whose tests took longer than the budget, slowest part first. */
export function overBudget(files: Iterable<Timed>): string[] {
  return Object.entries(Object.groupBy(files, ({ file }) => partOf(file)))
    .map(([part, its = []]) => [part, timeAlone(its)] as const)
    .filter(([, ms]) => ms > budgetMs)
    .sort(([, a], [, b]) => b - a)
    .map(([part, ms]) => `${part} took ${seconds(ms)}; its budget is ${seconds(budgetMs)}`)
}

/** Milliseconds as people read them: `1.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
