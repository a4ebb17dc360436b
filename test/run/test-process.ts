import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers'
import type { Parser } from 'tap-parser'
import { root, toolEnvironment } from './command.ts'
import { countGroup, countTests, type FileResult } from './count-tests.ts'
import { keepFolders } from './test-folders.ts'
import { filesVariable, type TestGroup, usesTap } from './test-group.ts'

/**
 * Milliseconds without output until tap prints what the tests wait for, and ends them. There is no limit for a test or a file: how long
 * it takes depends on the machine.
 */
const longestSilence = 300_000

/** The result of the process of a group. */
interface TestProcess {
  /** One for each file of the group, in order. */
  readonly results: readonly FileResult[]
  /** Its standard output. */
  readonly tap: string
  /** Its standard error output, and how it ended. */
  readonly complaint: string
}

/**
 * Runs the files of a group one after the other in one process. A file that is alone is a program of its own. The examples are
 * tested with node:test, which writes TAP if asked to.
 *
 * @param silenceMs milliseconds without output until the tests are ended. If the event loop is blocked then, the process is killed after
 *   a third of that time.
 */
export async function runGroup(
  group: TestGroup,
  env: NodeJS.ProcessEnv,
  silenceMs = longestSilence,
): Promise<TestProcess> {
  const isAlone = group.length === 1
  const { parser, results } = isAlone ? countTests(group[0]) : countGroup(group)
  const program = isAlone
    ? [...((await usesTap(group[0])) ? [join(import.meta.dirname, 'alone-program.ts')] : []), group[0]]
    : [join(import.meta.dirname, 'group-program.ts')]
  const files = isAlone ? {} : { [filesVariable]: JSON.stringify(group) }
  const { ended, cpuSeconds, ...run } = await runProcess(
    group.join(', '),
    program,
    { ...env, ...files },
    parser,
    silenceMs,
  )
  return { ...run, results: results(ended, cpuSeconds) }
}

/** A script for `sh` that runs a program, and then writes the CPU times of what it has waited for to descriptor 3. */
const measured = '"$@" 3>&-; code=$?; times >&3; exit "$code"'

/** The processes that run, each the leader of a group of processes. */
const running = new Set<number>()
process.once('exit', () => {
  for (const pid of running) signalProcessGroup(pid, 'SIGKILL')
})

async function runProcess(
  name: string,
  program: readonly string[],
  env: NodeJS.ProcessEnv,
  parser: Parser,
  silenceMs: number,
) {
  const command = ['node', '--conditions=nodekeep-source', '--test-reporter=tap', ...program]
  // Within tests, tap adds options to NODE_OPTIONS.
  const child = spawn('/usr/bin/env', ['-u', 'NODE_OPTIONS', 'sh', '-c', measured, 'sh', ...command], {
    cwd: root,
    env: toolEnvironment({ TAP_TIMEOUT: '0', ...keepFolders, ...env }),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const { pid } = child
  const [, stdout, stderr, cpuTimes] = child.stdio as unknown as readonly [null, Readable, Readable, Readable]
  if (pid === undefined) throw (await once(child, 'error'))[0]
  running.add(pid)
  // tap takes this signal for the end of the time.
  const end = setTimeout(() => signalProcessGroup(pid, 'SIGALRM'), silenceMs)
  const kill = setTimeout(() => signalProcessGroup(pid, 'SIGKILL'), silenceMs + silenceMs / 3)
  let tap = ''
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    tap += chunk
    end.refresh()
    kill.refresh()
  })
  stdout.pipe(parser)
  const [errors, times, [code, signal]] = await Promise.all([
    text(stderr),
    text(cpuTimes),
    once(child, 'close'),
    once(parser, 'complete'),
  ])
  clearTimeout(end)
  clearTimeout(kill)
  running.delete(pid)
  return {
    ended: code === 0,
    tap,
    complaint: `${errors}${name} ended with ${signal ?? `code ${code}`}\n`,
    cpuSeconds: childrenSeconds(times),
  }
}

/** Signals a process of a test, and the processes that it has started. */
function signalProcessGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {
    // It has ended.
  }
}

/** The sum of user and system time of all children, from the output of `times` (POSIX.1-2024, XCU 2.15): its second line. */
function childrenSeconds(times: string): number {
  const [, children = ''] = times.split('\n')
  return Array.from(children.matchAll(/(\d+)m([\d.,]+)s/g)).reduce(
    (sum, [, minutes, seconds = '']) => sum + Number(minutes) * 60 + Number(seconds.replace(',', '.')),
    0,
  )
}
