import { once } from 'node:events'
import { setTimeout } from 'node:timers'
import { startTool } from './command.ts'
import { countTests, type FileResult } from './count-tests.ts'

/** Seconds until tap ends a file that hangs, and tells what it waits for; a file may ask for more. */
const hanging = 120

/** Milliseconds until a process that doesn't even hear tap is killed. No file may ask for as much. */
const deaf = 400_000

/** What the process of a test file left. */
export interface TestProcess {
  readonly result: FileResult
  /** What it wrote to its standard output. */
  readonly tap: string
  /** Of a process that failed, what it wrote elsewhere and how it ended. */
  readonly complaint: string
}

/**
 * Runs a test file in a process of its own, and not through `tap run`: tap would have each process of a test, also a
 * node or a command that it starts, note every file that it loads. Such a process took half as much time again.
 *
 * The examples are tested with node:test, which writes TAP when it is told to.
 */
export async function runTestFile(file: string, env: NodeJS.ProcessEnv): Promise<TestProcess> {
  const since = performance.now()
  const { parser, result } = countTests(file)
  const args = ['--conditions=nodekeep-source', '--test-reporter=tap', file]
  const child = startTool('node', args, { TAP_TIMEOUT: `${hanging}`, ...env })
  const kill = setTimeout(() => child.kill('SIGKILL'), deaf)
  const written = { tap: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.tap += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written.errors += text
  })
  child.stdout.pipe(parser)
  const [[code, signal]] = await Promise.all([once(child, 'close'), once(parser, 'complete')])
  clearTimeout(kill)
  const complaint = `${written.errors}${file} ended with ${signal ?? `code ${code}`}\n`
  return { result: result(code === 0, performance.now() - since), tap: written.tap, complaint }
}
