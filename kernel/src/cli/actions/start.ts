import { createLogger } from '../../log/logger.ts'
import { createSecrets } from '../../log/secrets.ts'
import { type RunningNode, startNode } from '../../node.ts'
import { banner } from '../banner.ts'
import type { ConfigurationOptions } from '../configuration-options.ts'
import { fail } from '../fail.ts'
import { readConfiguration } from '../read-configuration.ts'
import { letYoungGenerationGrow } from '../young-generation.ts'

/** Starts the node and runs it until a signal asks for its end. */
export async function start(options: ConfigurationOptions): Promise<void> {
  const interrupted = firstSignal()
  const giveUp = new AbortController()
  interrupted.then(() => giveUp.abort())
  try {
    const { node, log } = await boot(options, giveUp.signal)
    letYoungGenerationGrow()
    await interrupted
    log.info('The node is stopping.')
    await node.stop()
  } catch (error) {
    if (!giveUp.signal.aborted) {
      fail(error, options.verbose === true)
      process.exit(1)
    }
  }
  // What a plugin left running must not keep the process alive.
  process.exit(0)
}

async function boot(options: ConfigurationOptions, signal: AbortSignal) {
  const configuration = await readConfiguration(options)
  const { level, format } = configuration.kernel.log
  const secrets = createSecrets()
  const log = createLogger({ level, format, secrets })
  const node = await startNode({ configuration, log, secrets, signal })
  log.info({ url: node.url.href, data: node.dataFolder, plugins: states(node) }, 'The node is ready.')
  // The claim code is shown here and nowhere else, so an unclaimed node always prints the banner.
  if (format !== 'json' || node.claimCode() !== null) process.stderr.write(banner(node))
  return { node, log }
}

/**
 * Ctrl+C, a terminal that is closed, and a service manager reach every process of a group, and `npm start` passes on
 * once more what it got: the same signal so soon after the first is no second wish.
 */
const echoMs = 300

/** Resolves with the first signal that asks the process to end. A second one ends it at once. */
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
