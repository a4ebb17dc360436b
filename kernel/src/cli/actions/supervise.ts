import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { lockDataFolder } from '../../state/lock.ts'
import { openSocket } from '../../supervisor/open-socket.ts'
import { ReleaseFolder } from '../../supervisor/release-folder.ts'
import { Supervisor } from '../../supervisor/supervisor.ts'
import { createSupervisorLog } from '../../supervisor/supervisor-log.ts'
import { SupervisorState } from '../../supervisor/supervisor-state.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import type { SupervisorDescription } from './describe-for-supervisor.ts'
import { listenForStop } from './stop-signals.ts'

export interface SuperviseOptions extends ConfigurationOptions {
  /** How often the release in use did not start, as the launcher counts. */
  readonly failedStarts?: number
}

/**
 * `nodekeep supervise`
 *
 * @returns the exit code
 * @throws Error with one line for a person
 */
export async function runSupervisor({ failedStarts = 0, ...options }: SuperviseOptions): Promise<number> {
  if (process.platform === 'win32') throw new Error('"nodekeep supervise" does not run on Windows.')
  const args = argumentsOf(options)
  const { data, host, port, releases, trialSeconds, answerSeconds, logFormat, release } = await describe(args)
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
  const parts = { folder, state: new SupervisorState(folder.path), log, data, args }
  const supervisor = new Supervisor({
    ...parts,
    trialMs: trialSeconds * 1000,
    answerMs: answerSeconds * 1000,
  })
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

/** Asks this release in a process of its own: what reads the configuration would otherwise stay in the memory of this one. */
async function describe(args: readonly string[]): Promise<SupervisorDescription> {
  const [, command = ''] = process.argv
  const all = [...process.execArgv, command, 'supervise', '--describe', ...args]
  const { stdout } = await promisify(execFile)(process.execPath, all)
  const described = JSON.parse(stdout) as SupervisorDescription | { readonly problems: readonly string[] }
  if ('problems' in described) throw new Error(described.problems.join('\n'))
  return described
}
