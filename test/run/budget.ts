/** The CPU time that the tests of a part may take, which does not depend on what else the machine does. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './command.ts'
import { findTestFiles } from './test-files.ts'

/** CPU seconds, user and system, by the names of parts. */
type CpuSeconds = ReadonlyMap<string, number>

const recordFile = join(root, 'test/run/cpu-seconds.json')

/** The part of a test file: the test folder of its package, or its folder under `test/`. */
export function partOf(file: string): string {
  const folders = file.split('/').slice(0, -1)
  const test = folders.indexOf('test')
  return folders.slice(0, test + (test === 0 ? 2 : 1)).join('/')
}

/** Returns the recorded CPU seconds. */
export async function readRecord(): Promise<CpuSeconds> {
  return new Map(Object.entries(JSON.parse(await readFile(recordFile, 'utf8'))))
}

/** The number of parts from which on their median tells how slow the machine is. */
const enoughParts = 10

/** The least seconds that a budget is twice of. In less, the first use of a library that other parts use too is a large share. */
const leastSeconds = 5

/** The most that budgets grow. Beyond it, the tests themselves have become slower. */
const mostSlowness = 2

/** Returns how many times the recorded CPU seconds most parts used: from 1 to 2, and 1 for few parts. */
export function slownessOf(used: CpuSeconds, record: CpuSeconds): number {
  const ratios = [...used].map(([part, seconds]) => seconds / (record.get(part) ?? Number.NaN))
  const known = ratios.filter((ratio) => ratio > 0).sort((a, b) => a - b)
  const median = known.length < enoughParts ? 1 : (known[known.length >> 1] ?? 1)
  return Math.min(mostSlowness, Math.max(1, median))
}

/**
 * Checks that no part used more than twice its recorded CPU seconds. If most parts used more than recorded, the machine is slower than
 * the one of the record, and the budgets grow alike ({@link slownessOf}).
 *
 * @param used the CPU seconds of parts that ran wholly
 * @returns one line for each part over its budget
 */
export function overBudget(used: CpuSeconds, record: CpuSeconds): string[] {
  const slowness = slownessOf(used, record)
  const budgetOf = (part: string) => 2 * slowness * Math.max(leastSeconds, record.get(part) ?? Infinity)
  return [...used]
    .filter(([part, seconds]) => seconds > budgetOf(part))
    .sort(([, a], [, b]) => b - a)
    .map(
      ([part, seconds]) =>
        `${part} used ${seconds.toFixed(1)} s of CPU; the budget is ${Math.round(budgetOf(part))} s, twice the recorded time. ` +
        `Make its tests cheaper, or raise it in the commit that adds the tests: npm test -- --record ${part}`,
    )
}

/** Returns one line for each part that has no record yet, and so cannot be over its budget. */
export function withoutBudget(used: CpuSeconds, record: CpuSeconds): string[] {
  return [...used]
    .filter(([part]) => !record.has(part))
    .map(
      ([part, seconds]) =>
        `${part} used ${seconds.toFixed(1)} s of CPU, and has no budget yet: npm test -- --record ${part}`,
    )
}

/**
 * Keeps the CPU seconds of the parts whose test files all ran.
 *
 * @param files the files that ran
 */
export async function ofWholeParts(used: CpuSeconds, files: readonly string[]): Promise<CpuSeconds> {
  const ran = new Set(files)
  const whole = new Map<string, number>()
  for (const [part, seconds] of used) {
    if ((await findTestFiles([part])).every((file) => ran.has(file))) whole.set(part, seconds)
  }
  return whole
}

/**
 * Records the CPU seconds of parts, in whole seconds rounded up, and removes parts that are gone.
 *
 * @param used the CPU seconds of parts that ran wholly
 */
export async function recordBudgets(used: CpuSeconds): Promise<void> {
  const record = new Map(await readRecord())
  for (const part of record.keys()) if ((await findTestFiles([part])).length === 0) record.delete(part)
  for (const [part, seconds] of used) record.set(part, Math.ceil(seconds))
  const sorted = [...record].sort(([a], [b]) => (a < b ? -1 : 1))
  await writeFile(recordFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
