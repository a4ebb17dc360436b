import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigurationError } from '../../configuration/error.ts'
import { createLogger } from '../../log/logger.ts'
import { Secrets } from '../../log/secrets.ts'
import { startOnTrial } from '../../node.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'

/**
 * Starts a node on trial with an empty temporary data folder, and stops it. That finds what no look at the configuration can:
 * mounts without a backend, names and routes that two plugins want, and plugins that fail in their setup.
 *
 * @returns the warnings of the start
 * @throws ConfigurationError, or BootFailure, with what would fail
 */
export async function checkByTrial(options: ConfigurationOptions): Promise<string[]> {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-check-'))
  try {
    const warnings: string[] = []
    const secrets = new Secrets()
    const destination = {
      write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg),
    }
    const log = createLogger({ level: 'warn', format: 'json', secrets, destination })
    const configuration = await readConfiguration({ ...options, data })
    const trial = await startOnTrial({ configuration, log, secrets }, null)
    const failed = trial.plugins().filter(({ state }) => state === 'failed' || state === 'degraded')
    await trial.stop()
    if (failed.length > 0) {
      throw new ConfigurationError(
        failed.map(
          ({ id, configuredAt, state, reason }) => `"${id}" (${configuredAt}) is ${state}: ${reason}`,
        ),
      )
    }
    return warnings
  } finally {
    await rm(data, { recursive: true, force: true })
  }
}
