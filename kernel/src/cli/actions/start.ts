import { createLogger } from '../../log/logger.ts'
import { createSecrets } from '../../log/secrets.ts'
import { type RunningNode, startNode } from '../../node.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { fail } from '../common/fail.ts'
import { readConfiguration } from '../common/read-configuration.ts'
import { growYoungGeneration } from '../common/young-generation.ts'
import { banner } from './banner.ts'

/** Starts the node and runs it until a signal stops it. */
export async function start(options: ConfigurationOptions): Promise<void> {
  const interrupted = firstSignal()
  const aborted = new AbortController()
  interrupted.then(() => aborted.abort())
  try {
    const { node, log } = await boot(options, aborted.signal)
    growYoungGeneration()
    await interrupted
    log.info('The node is stopping.')
    await node.stop()
  } catch (error) {
    if (!aborted.signal.aborted) {
      fail(error, options.verbose === true)
      process.exit(1)
    }
  }
  // Timers and sockets that a plugin left open must not keep the process alive.
  process.exit(0)
}

async function boot(options: ConfigurationOptions, signal: AbortSignal) {
  const configuration = await readConfiguration(options)
  const { level, format } = configuration.kernel.log
  const secrets = createSecrets()
  const log = createLogger({ level, format, secrets })
  const node = await startNode({ configuration, log, secrets, signal })
  log.info({ url: node.url.href, data: node.dataFolder, plugins: states(node) }, 'The node is ready.')
  // The claim code is shown only in the banner, so an unclaimed node always prints it.
  if (format !== 'json' || node.claimCode() !== null) process.stderr.write(banner(node))
  return { node, log }
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
