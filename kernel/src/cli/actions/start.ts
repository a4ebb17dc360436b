import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Configuration, loadConfiguration } from '../../configuration/configuration.ts'
import type { ConfigurationSources } from '../../configuration/layers.ts'
import { watchEventLoop } from '../../faults/event-loop-watch.ts'
import { createLogger } from '../../log/logger.ts'
import { createSecrets } from '../../log/secrets.ts'
import { exitCodes, type NodeOptions, type RunningNode, startNode, startOnTrial } from '../../node.ts'
import { makePrivateFolder } from '../../state/data-folder.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { fail } from '../common/fail.ts'
import { readConfiguration } from '../common/read-configuration.ts'
import { growYoungGeneration } from '../common/young-generation.ts'
import { banner } from './banner.ts'
import { listenForStop, type StopSignals } from './stop-signals.ts'

export interface StartOptions extends ConfigurationOptions {
  /** The path of the socket on which only the parent reaches the node until it admits traffic. */
  readonly trial?: string
  /** Whether the parent sends the configuration, instead of the options and the environment. */
  readonly configuredByParent?: boolean
}

/** Starts the node and runs it until a signal stops it, or until a plugin asks for a restart. */
export async function start(options: StartOptions): Promise<void> {
  const stopSignals = listenForStop()
  const aborted = new AbortController()
  stopSignals.first.then(() => aborted.abort())
  try {
    const { node, log, watch } = await boot(options, stopSignals, aborted.signal)
    growYoungGeneration()
    const reason = await Promise.race([stopSignals.first, node.restartRequested])
    log.info(
      { reason },
      reason === undefined ? 'The node is stopping.' : 'The node is stopping to start again.',
    )
    watch.stopping()
    await node.stop()
    // Timers and sockets that a plugin left open must not keep the process alive.
    process.exit(reason === undefined ? exitCodes.stopped : exitCodes.restart)
  } catch (error) {
    if (aborted.signal.aborted) process.exit(exitCodes.stopped)
    fail(error, options.verbose === true)
    process.exit(exitCodes.cannotStart)
  }
}

async function boot(options: StartOptions, stopSignals: StopSignals, signal: AbortSignal) {
  const configuration = await (options.configuredByParent ? askParent() : readConfiguration(options))
  const { level, format } = configuration.kernel.log
  const secrets = createSecrets()
  const log = createLogger({ level, format, secrets })
  const watch = watchEventLoop({
    log,
    logSettings: { level, format: format === 'auto' && process.stdout.isTTY ? 'pretty' : format },
    onStandstill: stopSignals.ignore,
    onEnd: stopSignals.listen,
  })
  stopSignals.first.then(watch.stopping)
  reportFatalErrors(configuration.kernel.data)
  const parts = { configuration, log, secrets, signal }
  const node = await (options.trial === undefined ? startNode(parts) : startForParent(parts, options.trial))
  toParent({ nodekeep: 'serving', url: node.url.href })
  const ready = { url: node.url.href, data: node.dataFolder, plugins: states(node) }
  // On a terminal, the banner tells people the same.
  if (format !== 'json' && process.stdout.isTTY) log.debug(ready, 'The node is ready.')
  else log.info(ready, 'The node is ready.')
  // The claim code is shown only in the banner, so an unclaimed node always prints it.
  if (format !== 'json' || node.claimCode() !== null) process.stderr.write(banner(node))
  return { node, log, watch }
}

/**
 * Asks the program that spawned this process with an IPC channel: `{ nodekeep: 'configure' }` is answered by
 * `{ nodekeep: 'configuration', sources, temporary }`. The folder `temporary` is removed when this process ends.
 */
async function askParent(): Promise<Configuration> {
  const { promise, resolve, reject } = Promise.withResolvers<ParentsConfiguration>()
  process.once('message', resolve)
  process.once('disconnect', () => reject(parentIsGone()))
  // Nothing else keeps this process alive until the answer comes.
  process.channel?.ref()
  toParent({ nodekeep: 'configure' })
  const { sources, temporary } = await promise
  if (temporary !== null) process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
  return loadConfiguration(sources)
}

interface ParentsConfiguration {
  readonly sources: ConfigurationSources
  readonly temporary: string | null
}

/** Messages of the parent of a trial. */
type FromParent =
  | { readonly nodekeep: 'admit' }
  | { readonly nodekeep: 'session'; readonly user: string }
  | null

/**
 * Starts the node on trial for the program that spawned this process with an IPC channel. It tells the parent
 * `{ nodekeep: 'on trial' }`, waits for `{ nodekeep: 'admit' }`, and answers `{ nodekeep: 'serving', url }`. Meanwhile it answers
 * `{ nodekeep: 'session', user }` by a session of the user, `{ nodekeep: 'session', user, token }`.
 */
async function startForParent(
  parts: NodeOptions & { signal: AbortSignal },
  socket: string,
): Promise<RunningNode> {
  if (process.send === undefined) {
    throw new Error(
      '"--trial" is for a program that starts the node with an IPC channel and admits traffic later.',
    )
  }
  const gone = new AbortController()
  const parentGoes = () => gone.abort(parentIsGone())
  process.once('disconnect', parentGoes)
  if (!process.connected) parentGoes()
  const signal = AbortSignal.any([parts.signal, gone.signal])
  const trial = await startOnTrial({ ...parts, signal }, socket)
  const admitted = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => admitted.reject(signal.reason))
  if (signal.aborted) admitted.reject(signal.reason)
  const hear = (message: unknown) => {
    const heard = message as FromParent
    if (heard?.nodekeep === 'admit') admitted.resolve()
    if (heard?.nodekeep === 'session') void giveSession(trial, heard.user)
  }
  process.on('message', hear)
  toParent({ nodekeep: 'on trial' })
  try {
    await admitted.promise
  } catch (error) {
    await trial.stop()
    throw error
  } finally {
    process.off('message', hear)
    process.off('disconnect', parentGoes)
  }
  return trial.admit()
}

/** The token is `null` if there is no such user. */
async function giveSession(trial: Pick<RunningNode, 'issueSession'>, user: string): Promise<void> {
  const token = await trial.issueSession({ userUuid: user, label: 'trial', expiryDays: 1 }).then(
    (issued) => issued.token,
    () => null,
  )
  toParent({ nodekeep: 'session', user, token })
}

/** Sends a message to the parent, which may be gone. */
function toParent(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}

function parentIsGone(): Error {
  return new Error('The program that started this trial has ended.')
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
  report.directory = folder
  report.filename = 'fatal-error.json'
  report.reportOnFatalError = true
}

function states(node: RunningNode): Record<string, string> {
  return Object.fromEntries(node.plugins().map(({ id, state }) => [id, state]))
}
