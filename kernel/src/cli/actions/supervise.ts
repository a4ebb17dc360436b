import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { lockDataFolder } from '../../state/lock.ts'
import { openSocket } from '../../supervisor/open-socket.ts'
import { ReleaseChanges } from '../../supervisor/release-changes.ts'
import { ReleaseFolder } from '../../supervisor/release-folder.ts'
import { Supervisor } from '../../supervisor/supervisor.ts'
import { createSupervisorLog } from '../../supervisor/supervisor-log.ts'
import { SupervisorState } from '../../supervisor/supervisor-state.ts'
import type { SupervisorDescription } from './describe-for-supervisor.ts'
import { listenForStop } from './stop-signals.ts'

/**
 * `nodekeep supervise`
 *
 * @param given the arguments of the command
 * @returns the exit code
 * @throws Error with one line for a person
 */
export async function runSupervisor(given: readonly string[]): Promise<number> {
  if (process.platform === 'win32') throw new Error('"nodekeep supervise" does not run on Windows.')
  const described = await describe(given)
  if (typeof described === 'number') return described
  const { data, host, port, releases, trialSeconds, answerSeconds, logFormat, release, args, failedStarts } =
    described
  const folder = new ReleaseFolder(releases)
  if (release === null && folder.target('current') === null) {
    throw new Error(
      'There is no release to run. Unpack one, and run its "bin/nodekeep supervise". From sources or packages, run "nodekeep start".',
    )
  }
  folder.prepare(release)
  // Two supervisors would undo the changes of each other. The lock ends with this process.
  lockDataFolder(folder.path)
  const log = createSupervisorLog(logFormat)
  const trialMs = trialSeconds * 1000
  const state = new SupervisorState(folder.path, log)
  const changes = new ReleaseChanges({ folder, state, log, data, trialMs })
  const answerMs = answerSeconds * 1000
  const supervisor = new Supervisor({ folder, changes, log, data, args, trialMs, answerMs })
  const { first } = listenForStop(() => supervisor.stopAtOnce())
  first.then(() => supervisor.stop())
  let socket: number
  try {
    await supervisor.recover(failedStarts)
    socket = await openSocket(host, port, log)
  } catch (error) {
    // Another release would not help.
    rmSync(folder.failedStarts, { force: true })
    throw error
  }
  return supervisor.run(socket)
}

/**
 * Asks this release in a process of its own: what reads arguments and configuration would otherwise stay in the memory of this one.
 *
 * @returns the exit code if that process has told people everything already, such as a mistake in the arguments, or the help
 */
async function describe(given: readonly string[]): Promise<SupervisorDescription | number> {
  const [, command = ''] = process.argv
  const all = [...process.execArgv, command, 'supervise', '--describe', ...given]
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) return code ?? 1
  if (!stdout.startsWith('{')) {
    process.stdout.write(stdout)
    return 0
  }
  const described = JSON.parse(stdout) as SupervisorDescription | { readonly problems: readonly string[] }
  if ('problems' in described) throw new Error(described.problems.join('\n'))
  return described
}
