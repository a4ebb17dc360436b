import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jobs } from './budget.ts'
import { root, runTool } from './command.ts'
import { addCounts, type Counts, type FileResult } from './count-tests.ts'
import { type GroupRun, runGroups } from './run-groups.ts'
import { findTestFiles } from './test-files.ts'
import { groupFiles, type TestGroup } from './test-group.ts'
import { runGroup, runTestFile } from './test-process.ts'

/** The result of a run of test files. */
interface TestRun extends Counts {
  readonly files: readonly FileResult[]
  /** The failures as text for people; empty if there are none. */
  readonly failures: string
  /** The failures of tests that failed beside others and passed alone. */
  readonly flaky: readonly string[]
}

/**
 * Runs test files, in groups that share a process. If a group fails, its files run again, each in a process of its own,
 * which shows the file that fails. A group whose files fail only together has failed.
 *
 * @param paths files, folders or patterns; an empty list means all
 * @param env further variables for the tests
 * @param onFile called for each file as it ends
 */
export async function runTests(
  paths: readonly string[],
  env: NodeJS.ProcessEnv,
  onFile: (result: FileResult) => void,
): Promise<TestRun> {
  await rm(results, { recursive: true, force: true })
  // In reverse order: the longest files are among the last ones, and a long file that begins last delays the end.
  const groups = await groupFiles((await findTestFiles(paths)).reverse())
  const { runs, flaky } = await runGroups(groups, jobs, async (group) => {
    const run = await runOf(group, env)
    run.results.forEach(onFile)
    return run
  })
  const files = runs.flatMap((run) => run.results)
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of files) addCounts(counts, file)
  if (files.length === 0) {
    return { ...counts, failed: 1, files, failures: 'No tests were found.', flaky }
  }
  return { ...counts, files, failures: runs.map(({ failures }) => failures).join(''), flaky }
}

/** Runs the files of a group together, and each by itself if they fail. */
async function runOf(group: TestGroup, env: NodeJS.ProcessEnv): Promise<GroupRun> {
  const [first] = group
  if (group.length === 1) return runAlone(first, env)
  const shared = await runGroup(group, env)
  if (shared.ok) return { results: shared.results, failures: '' }
  const runs = await Array.fromAsync(group, (file) => runAlone(file, env))
  const each = runs.flatMap((run) => run.results)
  const failures = runs.map((run) => run.failures).join('')
  if (failures !== '') return { results: each, failures }
  return {
    results: each.map((result) => (result.file === first ? { ...result, ok: false, failed: 1 } : result)),
    failures: `${group.join(', ')} failed together, and not each by itself:\n${shared.complaint}`,
  }
}

/** Runs a file in a process of its own. */
async function runAlone(file: string, env: NodeJS.ProcessEnv): Promise<GroupRun> {
  const { result, tap, complaint } = await runTestFile(file, env)
  if (result.ok) return { results: [result], failures: '' }
  const path = join(results, `${file}.tap`)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, tap)
  // tap prints the source lines of the failures too.
  const { output } = await runTool('tap', ['replay', '--reporter=min', file])
  return { results: [result], failures: `${complaint}${output}` }
}

/** The folder from which `tap replay` reads the output of test files. */
const results = join(root, '.tap/test-results')
