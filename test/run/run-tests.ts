import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { partOf } from './budget.ts'
import { root, runTool } from './command.ts'
import { addCounts, type Counts, type FileResult } from './count-tests.ts'
import { type Coverage, coverageVariable } from './coverage.ts'
import { groupFiles } from './test-group.ts'
import { runGroup } from './test-process.ts'

/** The number of processes that run at the same time. Four left 6 % of two processors idle, since many tests wait; five leave 2 %. */
const jobs = 5

/** The result of a run of test files. */
export interface TestRun extends Counts {
  readonly files: readonly FileResult[]
  /** The CPU seconds of each part of the tests, also of the processes that it has started. */
  readonly cpuSeconds: ReadonlyMap<string, number>
  /** The failures as text for people; empty if there are none. */
  readonly failures: string
}

interface Options {
  /** Returns further variables for the process of a file. */
  readonly envOf: (file: string) => NodeJS.ProcessEnv
  /** Work that takes turns with the tests, and begins before them. */
  readonly before: readonly (() => Promise<unknown>)[]
  /** Called before the process of a file. Files for which it resolves with false do not run. */
  readonly isReady: (file: string) => Promise<boolean>
  /** Called for each file as it ends. */
  readonly onFile: (result: FileResult) => void
  /** Measures the coverage by those files, with a folder for what the processes write. */
  readonly coverage?: {
    readonly of: Coverage
    readonly folder: string
    readonly isMeasured: (file: string) => boolean
  }
}

/** Runs test files, in groups that share a process. Each runs once. */
export async function runTests(
  files: readonly string[],
  { envOf, before, isReady, onFile, coverage }: Options,
): Promise<TestRun> {
  await rm(results, { recursive: true, force: true })
  const ended: FileResult[] = []
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const cpuSeconds = new Map<string, number>()
  const complaints: string[] = []
  const replayable: string[] = []
  const groups = await groupFiles(files)
  const tests = groups.map((group) => async () => {
    const [first] = group
    if (!(await isReady(first))) return
    const measured = coverage?.isMeasured(first) ? coverage : undefined
    const written = measured && join(measured.folder, `${groups.indexOf(group)}`)
    const run = await runGroup(group, {
      ...envOf(first),
      ...(written && { [group.length === 1 ? 'NODE_V8_COVERAGE' : coverageVariable]: written }),
    })
    if (written) await measured.of.add(written)
    for (const result of run.results) {
      const part = partOf(result.file)
      cpuSeconds.set(part, (cpuSeconds.get(part) ?? 0) + result.cpuSeconds)
      ended.push(result)
      addCounts(counts, result)
      onFile(result)
    }
    if (run.results.every(({ ok }) => ok)) return
    complaints.push(run.complaint)
    await keepForReplay(first, run.tap)
    replayable.push(first)
  })
  const waiting = [...before, ...tests].values()
  const work = async () => {
    for (const job of waiting) await job()
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return {
    ...counts,
    files: ended,
    cpuSeconds,
    failures: `${complaints.join('')}${await replay(replayable)}`,
  }
}

/** The folder from which `tap replay` reads the output of test files. */
const results = join(root, '.tap/test-results')

async function keepForReplay(name: string, tap: string): Promise<void> {
  const path = join(results, `${name}.tap`)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, tap)
}

/** Lets tap print failed files, with the source lines of the failures. */
async function replay(names: readonly string[]): Promise<string> {
  if (names.length === 0) return ''
  return (await runTool('tap', ['replay', '--reporter=min', ...names])).output
}
