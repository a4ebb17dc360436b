import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { lockDataFolder, lockHolder } from '@nodekeep/plugin-sdk/data-folder'
import { listenForStop, type SupervisorDescription } from '@nodekeep/plugin-sdk/supervision'
import { openSocket } from './open-socket.ts'
import { changeToOther } from './other-release.ts'
import { ReleaseChanges } from './release-changes.ts'
import { forgetFailedStarts, ReleaseFolder } from './release-folder.ts'
import { type AskedChange, Supervisor } from './supervisor.ts'
import { createSupervisorLog } from './supervisor-log.ts'
import { SupervisorState } from './supervisor-state.ts'

/** The time for the port of an old node to become free after its data folder. */
const portWaitMs = 10_000

/**
 * `nodekeep supervise`
 *
 * @param given the arguments of the command
 * @param command the program and the first arguments that run the command line of this release
 * @returns the exit code
 * @throws Error with one line for a person
 */
export async function runSupervisor(
  given: readonly string[],
  command: readonly [string, ...string[]],
): Promise<number> {
  // V8 enlarges the memory for new objects up to 32 MB while many survive, as during a start, and an idle process keeps it.
  setFlagsFromString('--semi-space-growth-factor=1')
  if (process.platform === 'win32') throw new Error('"nodekeep supervise" does not run on Windows.')
  const described = await describe(given, command)
  if (typeof described === 'number') return described
  let run: () => Promise<number>
  try {
    run = await prepare(described)
  } catch (error) {
    // Another release would not help.
    forgetFailedStarts(described.releases)
    throw error
  }
  const code = await run()
  forgetFailedStarts(described.releases)
  return code
}

/**
 * Brings the releases in order, and opens the socket.
 *
 * @returns runs the node, and returns the exit code
 */
async function prepare(described: SupervisorDescription): Promise<() => Promise<number>> {
  const { data, releases, trialSeconds, answerSeconds, logFormat, release, args, back } = described
  const log = createSupervisorLog(logFormat)
  // A node whose supervisor was killed ends by itself, and has the port until then.
  const isOldThere = [data, releases].some((folder) => lockHolder(folder) !== null)
  // Before anything is made: a port that another program has leaves no trace.
  const early = isOldThere ? null : await openSocket(described, log, { waitMs: 0 })
  const folder = new ReleaseFolder(releases)
  if (release === null && folder.target('current') === null) {
    throw new Error(
      'There is no release to run. Unpack one, and run its "bin/nodekeep supervise". From sources or packages, run "nodekeep start".',
    )
  }
  folder.prepare(release)
  // Two supervisors would undo the changes of each other. The lock ends with this process.
  lockDataFolder(folder.path)
  const trialMs = trialSeconds * 1000
  const state = new SupervisorState(folder.path, log)
  const changes = new ReleaseChanges(folder, state, log, { data, trialMs })
  const answerMs = answerSeconds * 1000
  const supervisor = new Supervisor(folder, changes, log, { data, args, trialMs, answerMs })
  const { first } = listenForStop(() => supervisor.stopAtOnce())
  first.then(() => supervisor.stop())
  await supervisor.recover()
  const problem = back === null ? null : changes.rollback.go(back)
  if (problem !== null) throw new Error(problem)
  const socket = early ?? (await openSocket(described, log, { waitMs: portWaitMs }))
  const { again, withoutWayBack } = described
  const change =
    release === null || back !== null ? null : await changeToOther(release, folder, changes, log, { again })
  const asked: AskedChange | null = change && { change, drainMs: 0, withoutRollback: withoutWayBack }
  return () => supervisor.run(socket, asked)
}

/**
 * Asks this release in a process of its own: what reads arguments and configuration would otherwise stay in the memory of this one.
 *
 * @returns the exit code if that process has told people everything already, such as a mistake in the arguments, or the help
 */
async function describe(
  given: readonly string[],
  [program, ...first]: readonly [string, ...string[]],
): Promise<SupervisorDescription | number> {
  const child = spawn(program, [...first, 'supervise', '--describe', ...given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) return code ?? 1
  if (!stdout.startsWith('{')) {
    process.stdout.write(stdout)
    return 0
  }
  const described = JSON.parse(stdout) as SupervisorDescription | { readonly problems: readonly string[] }
  if ('problems' in described) {
    // The unit names the folder by this variable. Another release would not help.
    const { NODEKEEP_RELEASES__FOLDER: releases } = process.env
    if (releases !== undefined) forgetFailedStarts(releases)
    throw new Error(described.problems.join('\n'))
  }
  return described
}
