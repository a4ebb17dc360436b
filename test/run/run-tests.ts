import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jobs } from './budget.ts'
import { root, runTool } from './command.ts'
import { addCounts, type Counts, type FileResult } from './count-tests.ts'
import { findTestFiles } from './test-files.ts'
import { groupFiles } from './test-group.ts'
import { runGroup, runTestFile } from './test-process.ts'

/** The result of a run of test files. */
interface TestRun extends Counts {
  readonly files: readonly FileResult[]
  /** The failures as text for people; empty if there are none. */
  readonly failures: string
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
  const files: FileResult[] = []
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const complaints: string[] = []
  const replayable: string[] = []
  // In reverse order: the longest files are among the last ones, and a long file that begins last delays the end.
  const waiting = (await groupFiles((await findTestFiles(paths)).reverse())).values()
  const note = (result: FileResult) => {
    files.push(result)
    addCounts(counts, result)
    onFile(result)
  }
  const alone = async (file: string) => {
    const { result, tap, complaint } = await runTestFile(file, env)
    if (!result.ok) {
      complaints.push(complaint)
      await keepForReplay(file, tap)
      replayable.push(file)
    }
    return result
  }
  const work = async () => {
    for (const group of waiting) {
      if (group.length === 1) {
        note(await alone(group[0]))
        continue
      }
      const shared = await runGroup(group, env)
      if (shared.ok) {
        shared.results.forEach(note)
        continue
      }
      const results = await Array.fromAsync(group, alone)
      const [first, ...others] = results
      if (results.every(({ ok }) => ok) && first !== undefined) {
        complaints.push(`${group.join(', ')} failed together, and not each by itself:\n${shared.complaint}`)
        note({ ...first, ok: false, failed: 1 })
        others.forEach(note)
      } else results.forEach(note)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  if (files.length === 0) return { passed: 0, failed: 1, skipped: 0, files, failures: 'No tests were found.' }
  return { ...counts, files, failures: `${complaints.join('')}${await replay(replayable)}` }
}

/** The folder from which `tap replay` reads the output of test files. */
const results = join(root, '.tap/test-results')

async function keepForReplay(file: string, tap: string): Promise<void> {
  const path = join(results, `${file}.tap`)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, tap)
}

/** Lets tap print failed files, with the source lines of the failures. */
async function replay(files: readonly string[]): Promise<string> {
  if (files.length === 0) return ''
  return (await runTool('tap', ['replay', '--reporter=min', ...files])).output
}
