import { join } from 'node:path'
import { collectHeap } from '@nodekeep/plugin-sdk'
import { lockDataFolder, lockHolder, makePrivateFolder } from '@nodekeep/plugin-sdk/data-folder'
import {
  listenForStop,
  messageOf,
  type StopSignals,
  takeInheritedSocket,
} from '@nodekeep/plugin-sdk/supervision'
import { ConfigurationError } from '../../configuration/error.ts'
import { watchEventLoop } from '../../faults/event-loop-watch.ts'
import { bindPort } from '../../http/listen.ts'
import { createLogger } from '../../log/logger.ts'
import { Secrets } from '../../log/secrets.ts'
import { exitCodes, type RunningNode, startNode } from '../../node.ts'
import { BootFailure } from '../../plugins/boot-failure.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import { fail } from '../common/fail.ts'
import { readConfiguration } from '../common/read-configuration.ts'
import { growYoungGeneration } from '../common/young-generation.ts'
import { banner } from './banner.ts'
import { lastToParent, Parent, type ParentOption, toParent } from './parent.ts'

export interface StartOptions extends ConfigurationOptions {
  /** The path of the socket on which only the parent reaches the node until it admits traffic. */
  readonly trial?: string
  /** Whether the parent sends the configuration, instead of the options and the environment. */
  readonly configuredByParent?: boolean
  /** Whether the parent is a supervisor, which passes the socket. */
  readonly supervised?: boolean
  /** Whether the parent is `start --watch`, which starts the node again. */
  readonly watched?: boolean
}

/** Starts the node and runs it until a signal stops it, or until a plugin asks for a restart. */
export async function start(options: StartOptions): Promise<void> {
  const stopSignals = listenForStop()
  const secrets = new Secrets()
  const aborted = new AbortController()
  stopSignals.first.then(() => aborted.abort())
  try {
    const { node, log, watch, parent } = await boot(options, stopSignals, secrets, aborted.signal)
    growYoungGeneration()
    setTimeout(collectHeap, collectAfterMs, 'major').unref()
    const reason = await Promise.race([stopSignals.first, node.restartRequested])
    log.info(
      { reason },
      reason === undefined ? 'The node is stopping.' : 'The node is stopping to start again.',
    )
    watch.stopping()
    await stopNode(node, parent)
    // Timers and sockets that a plugin left open must not keep the process alive.
    process.exit(reason === undefined ? exitCodes.stopped : exitCodes.restart)
  } catch (error) {
    if (aborted.signal.aborted) process.exit(exitCodes.stopped)
    const isConfiguration = error instanceof ConfigurationError
    const reason = error instanceof BootFailure ? error.summary : messageOf(error)
    // The history of updates shows the reason to all users.
    await lastToParent({ nodekeep: 'cannot start', reason: secrets.scrub(reason), isConfiguration })
    fail(error, options.verbose === true)
    process.exit(exitCodes.cannotStart)
  }
}

/**
 * Time after which the heap is collected, once: what the start left is some 15 MB, and V8 waits for growth, which an idle node has
 * not. The collection stops the node for 0.1 s or so, and those who waited for the start have their first answers by then.
 */
const collectAfterMs = 1000

async function boot(options: StartOptions, stopSignals: StopSignals, secrets: Secrets, signal: AbortSignal) {
  const inherited = takeInheritedSocket()
  const option = parentOption(options)
  const parent = option === null ? null : new Parent(option, signal, stopSignals.request)
  const supervisor =
    parent !== null && options.supervised === true ? await parent.supervisor(argumentsOf(options)) : null
  const configuration = await (parent !== null && options.configuredByParent === true
    ? parent.configuration()
    : readConfiguration(options))
  const onTrial = options.trial !== undefined || supervisor?.onTrial === true
  const { data, server } = configuration.kernel
  // Before anything is made: a port that is in use leaves no trace in the data folder.
  const socket = inherited ?? (onTrial ? null : await bindFreePort(server, data))
  const { level, format } = configuration.kernel.log
  const log = createLogger({ level, format, secrets })
  const watch = watchEventLoop({
    log,
    logSettings: { level, format: format === 'auto' && process.stdout.isTTY ? 'pretty' : format, fd: 1 },
    effect: 'so the node answers nobody',
    onStandstill: stopSignals.ignore,
    onEnd: stopSignals.listen,
  })
  stopSignals.first.then(watch.stopping)
  reportFatalErrors(data)
  const parts = { configuration, log, secrets, signal, supervisor, socket }
  const node = await (parent !== null && onTrial
    ? parent.trial(parts, options.trial ?? null)
    : startNode(parts))
  toParent({ nodekeep: 'serving', url: node.url.href })
  const ready = { url: node.url.href, data: node.dataFolder, plugins: states(node) }
  // On a terminal, the banner tells people the same.
  if (format !== 'json' && process.stdout.isTTY) log.debug(ready, 'The node is ready.')
  else log.info(ready, 'The node is ready.')
  // The claim code is shown only in the banner, so an unclaimed node always prints it.
  if (format !== 'json' || node.claimCode() !== null) process.stderr.write(banner(node))
  return { node, log, watch, parent }
}

/** @throws Error with one line that says what to do */
async function bindFreePort({ host, port }: { host: string; port: number }, data: string) {
  try {
    return await bindPort(host, port)
  } catch (error) {
    // A second start of the same node finds its data in use, too. Another port would not help it.
    if (lockHolder(data) !== null) lockDataFolder(data)
    throw error
  }
}

/** Returns the first option that needs a parent; `null` if none was given. */
function parentOption({ supervised, watched, configuredByParent, trial }: StartOptions): ParentOption | null {
  if (supervised === true) return '--supervised'
  if (watched === true) return '--watched'
  if (configuredByParent === true) return '--configured-by-parent'
  return trial === undefined ? null : '--trial'
}

/** During a change of the release, clients wait. So the requests that still run after the wait have little time. */
const drainOfChangeMs = 1000

async function stopNode(node: RunningNode, parent: Parent | null): Promise<void> {
  if (parent === null || parent.waitMs === 0) return node.stop()
  await node.waitForRequests(parent.waitMs, parent.stopNow)
  await node.stop(drainOfChangeMs)
}

/**
 * Lets Node write a report when the process dies of a fatal error, such as a full heap: `reports/fatal-error.json` in the data
 * folder, readable by the node's user only. It replaces the one before.
 *
 * The environment holds secrets. Node leaves it out of this report only if it was started with `--report-exclude-env`.
 */
function reportFatalErrors(dataFolder: string): void {
  const { report } = process
  if (!report.excludeEnv) return
  const folder = join(dataFolder, 'reports')
  try {
    makePrivateFolder(folder)
  } catch {
    // The start itself says what is wrong with the data folder.
    return
  }
  // Node prints this name when it writes the report, and nothing else tells where it is.
  report.filename = join(folder, 'fatal-error.json')
  report.reportOnFatalError = true
}

function states(node: RunningNode): Record<string, string> {
  return Object.fromEntries(node.plugins().map(({ id, state }) => [id, state]))
}
