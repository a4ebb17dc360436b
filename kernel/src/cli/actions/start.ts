import { createLogger } from '../../log/logger.ts'
import { createSecrets } from '../../log/secrets.ts'
import { exitCodes, type NodeOptions, type RunningNode, startNode, startOnTrial } from '../../node.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { fail } from '../common/fail.ts'
import { readConfiguration } from '../common/read-configuration.ts'
import { growYoungGeneration } from '../common/young-generation.ts'
import { banner } from './banner.ts'

export interface StartOptions extends ConfigurationOptions {
  /** The path of the socket on which only the parent reaches the node until it admits traffic. */
  readonly trial?: string
}

/** Starts the node and runs it until a signal stops it, or until a plugin asks for a restart. */
export async function start(options: StartOptions): Promise<void> {
  const interrupted = firstSignal()
  const aborted = new AbortController()
  interrupted.then(() => aborted.abort())
  try {
    const { node, log } = await boot(options, aborted.signal)
    growYoungGeneration()
    const reason = await Promise.race([interrupted, node.restartRequested])
    log.info(
      { reason },
      reason === undefined ? 'The node is stopping.' : 'The node is stopping to start again.',
    )
    await node.stop()
    // Timers and sockets that a plugin left open must not keep the process alive.
    process.exit(reason === undefined ? exitCodes.stopped : exitCodes.restart)
  } catch (error) {
    if (aborted.signal.aborted) process.exit(exitCodes.stopped)
    fail(error, options.verbose === true)
    process.exit(exitCodes.cannotStart)
  }
}

async function boot(options: StartOptions, signal: AbortSignal) {
  const configuration = await readConfiguration(options)
  const { level, format } = configuration.kernel.log
  const secrets = createSecrets()
  const log = createLogger({ level, format, secrets })
  const parts = { configuration, log, secrets, signal }
  const node = await (options.trial === undefined ? startNode(parts) : startForParent(parts, options.trial))
  process.send?.({ nodekeep: 'serving', url: node.url.href })
  const ready = { url: node.url.href, data: node.dataFolder, plugins: states(node) }
  // On a terminal, the banner tells people the same.
  if (format !== 'json' && process.stdout.isTTY) log.debug(ready, 'The node is ready.')
  else log.info(ready, 'The node is ready.')
  // The claim code is shown only in the banner, so an unclaimed node always prints it.
  if (format !== 'json' || node.claimCode() !== null) process.stderr.write(banner(node))
  return { node, log }
}

/**
 * Starts the node on trial for the program that spawned this process with an IPC channel. It tells the parent
 * `{ nodekeep: 'on trial' }`, waits for `{ nodekeep: 'admit' }`, and answers `{ nodekeep: 'serving', url }`.
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
  const admitted = Promise.withResolvers<void>()
  process.on('message', (message) => {
    if ((message as { nodekeep?: unknown } | null)?.nodekeep === 'admit') admitted.resolve()
  })
  process.once('disconnect', () =>
    admitted.reject(new Error('The program that started this trial has ended.')),
  )
  parts.signal.addEventListener('abort', () => admitted.reject(parts.signal.reason))
  const trial = await startOnTrial(parts, socket)
  process.send({ nodekeep: 'on trial' })
  try {
    await admitted.promise
  } catch (error) {
    await trial.stop()
    throw error
  }
  return trial.admit()
}

/**
 * Ctrl+C, a closed terminal and a service manager signal every process of a group, and `npm start` forwards the signal it
 * received. So the same signal shortly after the first is a copy of it.
 */
const echoMs = 300

/** Resolves at the first signal that asks the process to end. A second signal ends the process at once. */
function firstSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let first: { readonly signal: string; readonly at: number } | null = null
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const isEcho = first?.signal === signal && performance.now() - first.at < echoMs
      if (first !== null && !isEcho) process.exit(1)
      first ??= { signal, at: performance.now() }
      resolve()
    })
  }
  return promise
}

function states(node: RunningNode): Record<string, string> {
  return Object.fromEntries(node.plugins().map(({ id, state }) => [id, state]))
}
