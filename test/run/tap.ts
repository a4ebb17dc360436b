import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runTool, startTool } from './command.ts'
import { addCounts, type Counts, countTests, type FileResult } from './count-tests.ts'

/** What a run of test files came to. */
export interface TestRun extends Counts {
  readonly files: readonly FileResult[]
  /** tap's own account of the failures, for people; empty when all went well. */
  readonly failures: string
}

/**
 * Runs test files through tap.
 *
 * @param paths files, folders or patterns; none means all
 * @param env further variables for the tests
 * @param onFile called for each file as it ends
 */
export async function runTests(
  paths: readonly string[],
  env: NodeJS.ProcessEnv,
  onFile: (result: FileResult) => void,
): Promise<TestRun> {
  await prepareTap()
  const files: FileResult[] = []
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  const parser = countTests((result) => {
    files.push(result)
    addCounts(counts, result)
    onFile(result)
  })

  const patterns = await Promise.all(paths.map(pattern))
  const tap = startTool('tap', ['run', '--reporter=tap', ...patterns], env)
  let complaints = ''
  tap.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  tap.stdout.pipe(parser)
  const [[code]] = await Promise.all([once(tap, 'close'), once(parser, 'complete')])

  if (code === 0 && counts.failed === 0) return { ...counts, files, failures: '' }
  if (counts.failed === 0) counts.failed = 1
  const replay =
    files.length > 0 ? await runTool('tap', ['replay', '--reporter=min', ...patterns]) : undefined
  return { ...counts, files, failures: complaints + (replay?.output ?? '') }
}

/**
 * tap builds its test class from the plugins in `.taprc` when the two differ, but the run that finds the
 * difference still starts its files the old way. As npm installs it, it has the TypeScript plugin in it.
 */
async function prepareTap(): Promise<void> {
  const built = join(root, 'node_modules/@tapjs/test/test-built/dist/esm/index.js')
  if (!(await readFile(built, 'utf8')).includes('@tapjs/typescript/import')) return
  const { ok, output } = await runTool('tap', ['build'])
  if (!ok) throw new Error(`tap could not be built for the plugins in .taprc:\n${output}`)
}

/** tap takes files and patterns; people also name folders. */
async function pattern(path: string): Promise<string> {
  const folder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return folder ? `${path.replace(/\/$/, '')}/**/*.test.ts` : path
}
