import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers'
import type { Parser } from 'tap-parser'
import { startTool } from './command.ts'
import { countGroup, countTests, type FileResult } from './count-tests.ts'
import { endedBy, filesVariable, type TestGroup } from './test-group.ts'

/** Seconds until tap ends a file that hangs, and prints what the file waits for. A file may ask for more. */
const tapTimeout = 120

/** Milliseconds until a process is killed whose event loop is blocked. No file may ask for more. */
const killTimeoutMs = 400_000

/** The result of the process of a test file. */
interface TestProcess {
  readonly result: FileResult
  /** Its standard output. */
  readonly tap: string
  /** Its standard error output, and how it ended. */
  readonly complaint: string
}

/** Runs a test file in a process of its own. The examples are tested with node:test, which writes TAP if asked to. */
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

/** The result of the process of a group. */
interface GroupProcess {
  /** One for each file that ran to its end. */
  readonly results: readonly FileResult[]
  readonly ok: boolean
  /** Its output, and how it ended. */
  readonly complaint: string
}

/** Runs the files of a group one after the other in one process. */
export async function runGroup(group: TestGroup, env: NodeJS.ProcessEnv): Promise<GroupProcess> {
  const { parser, results } = countGroup(group[0], endedBy)
  const args = [join(import.meta.dirname, 'run-group.ts'), dirname(group[0])]
  const files = { [filesVariable]: JSON.stringify(group) }
  const { ended, tap, errors, how } = await runProcess(args, { ...env, ...files }, parser)
  const ok = ended && results.length === group.length && results.every((result) => result.ok)
  return { results, ok, complaint: `${tap}${errors}the process ended with ${how}\n` }
}

async function runProcess(args: readonly string[], env: NodeJS.ProcessEnv, parser: Parser) {
  const child = startTool('node', ['--conditions=nodekeep-source', '--test-reporter=tap', ...args], {
    TAP_TIMEOUT: `${tapTimeout}`,
    ...env,
  })
  const kill = setTimeout(() => child.kill('SIGKILL'), killTimeoutMs)
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
