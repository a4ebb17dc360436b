import { test } from 'tap'
import type { FileResult } from './count-tests.ts'
import { type GroupRun, runGroups } from './run-groups.ts'
import type { TestGroup } from './test-group.ts'

const runOf = (file: string, ok: boolean): GroupRun => {
  const result: FileResult = {
    file,
    ok,
    process: file,
    ms: 1,
    passed: ok ? 1 : 0,
    failed: ok ? 0 : 1,
    skipped: 0,
    skippedTests: [],
  }
  return { results: [result], failures: ok ? '' : `${file} failed` }
}

/** Runs groups of one file each. Returns what counts, and the files in the order in which they began. */
async function runFiles(files: readonly string[], fails: (file: string, runs: number) => boolean) {
  const begun: string[] = []
  let running = 0
  const run = async ([file]: TestGroup) => {
    begun.push(file)
    running += 1
    const isAgain = begun.filter((other) => other === file).length > 1
    if (isAgain && running > 1) throw new Error('It runs beside others again.')
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    return runOf(file, !fails(file, begun.filter((other) => other === file).length))
  }
  const { runs, flaky } = await runGroups(
    files.map((file) => [file]),
    2,
    run,
  )
  const failed = runs.flatMap(({ results }) => results.filter(({ ok }) => !ok).map(({ file }) => file))
  return { begun, failed, flaky, count: runs.length }
}

test('a group that fails beside others runs again by itself', async (t) => {
  const { begun, failed, flaky, count } = await runFiles(
    ['a', 'b', 'c', 'd'],
    (file, runs) => file === 'b' || (file === 'a' && runs === 1),
  )
  t.strictSame(begun.slice(0, 4), ['a', 'b', 'c', 'd'])
  t.strictSame(begun.slice(4).sort(), ['a', 'b'])
  t.strictSame(failed, ['b'], 'it failed again')
  t.strictSame(flaky, ['a failed'], 'its failure is still told')
  t.equal(count, 4)
})

test('failures of many groups, and of the only group, count at once', async (t) => {
  const many = await runFiles(['a', 'b', 'c', 'd', 'e'], (file) => file !== 'e')
  t.equal(many.begun.length, 5)
  t.equal(many.failed.length, 4)
  const only = await runFiles(['a'], () => true)
  t.strictSame(only.begun, ['a'])
  t.strictSame(only.failed, ['a'])
})
