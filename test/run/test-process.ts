import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers'
import type { Parser } from 'tap-parser'
import { startTool } from './command.ts'
import { countGroup, countTests, type FileResult } from './count-tests.ts'
import { endedBy, filesVariable, type TestGroup } from './test-group.ts'

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
  const { ended, tap, errors, how } = await runProcess([file], env, parser)
  return {
    result: result(ended, performance.now() - since),
    tap,
    complaint: `${errors}${file} ended with ${how}\n`,
  }
}

/** What the process of a group left. */
export interface GroupProcess {
  /** Of the files whose end was seen. */
  readonly results: readonly FileResult[]
  readonly ok: boolean
  /** What it wrote, and how it ended. */
  readonly complaint: string
}

/** Runs the files of a group one after the other in one process. */
export async function runGroup(group: TestGroup, env: NodeJS.ProcessEnv): Promise<GroupProcess> {
  const { parser, results } = countGroup(group[0], endedBy)
  const args = [join(import.meta.dirname, 'together.ts'), dirname(group[0])]
  const files = { [filesVariable]: JSON.stringify(group) }
  const { ended, tap, errors, how } = await runProcess(args, { ...env, ...files }, parser)
  const ok = ended && results.length === group.length && results.every((result) => result.ok)
  return { results, ok, complaint: `${tap}${errors}the process ended with ${how}\n` }
}

async function runProcess(args: readonly string[], env: NodeJS.ProcessEnv, parser: Parser) {
  const child = startTool('node', ['--conditions=nodekeep-source', '--test-reporter=tap', ...args], {
    TAP_TIMEOUT: `${hanging}`,
    ...env,
  })
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
  return { ...written, ended: code === 0, how: signal ?? `code ${code}` }
}
