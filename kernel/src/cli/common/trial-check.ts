import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, parse, relative, sep } from 'node:path'
import { type Configuration, loadConfiguration } from '../../configuration/configuration.ts'
import { refuse } from '../../configuration/error.ts'
import { createLogger } from '../../log/logger.ts'
import { Secrets } from '../../log/secrets.ts'
import { startOnTrial } from '../../node.ts'
import type { PluginDescription } from '../../plugins/describe-plugin.ts'
import { findPluginFolders } from '../../plugins/installed-plugins.ts'
import type { CommandProcess } from './command-process.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'

interface LogLine {
  readonly level: string
  readonly msg: string
  readonly err?: { readonly stack: string }
}

/**
 * Starts a node on trial with an empty temporary data folder, and stops it. That finds what a check of the configuration cannot find:
 * mounts without a backend, names and routes that two plugins want, and plugins that fail in their setup. The data of the node
 * and the folders of its plugins stay as they are, and a running node may use them meanwhile.
 *
 * @returns the warnings of the start, and the plugins as they were up
 * @throws ConfigurationError, or BootFailure, with what would fail
 */
export async function checkByTrial(
  options: ConfigurationOptions,
  process: CommandProcess,
): Promise<{ readonly warnings: readonly string[]; readonly plugins: readonly PluginDescription[] }> {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-check-'))
  try {
    const warnings: string[] = []
    const secrets = new Secrets()
    const destination = {
      write(line: string) {
        const { level, msg, err } = JSON.parse(line) as LogLine
        warnings.push(msg)
        // A plugin ends this process: nothing comes after.
        if (level === 'fatal') process.stderr.write(`nodekeep: ${msg}\n${err?.stack ?? ''}\n`)
      },
    }
    const log = createLogger({ level: 'warn', format: 'json', secrets, destination })
    const configuration = await movedInto(data, await readConfiguration({ ...options, data }, process))
    const trial = await startOnTrial({ configuration, log, secrets }, null)
    const plugins = trial.plugins()
    const failed = plugins.filter(({ state }) => state === 'failed' || state === 'degraded')
    await trial.stop()
    refuse(
      failed.map(({ id, configuredAt, state, reason }) => `"${id}" (${configuredAt}) is ${state}: ${reason}`),
    )
    return { warnings, plugins }
  } finally {
    await rm(data, { recursive: true, force: true })
  }
}

/** Moves the folders of plugins that are elsewhere into the data folder. Those that are the same stay the same. */
async function movedInto(data: string, configuration: Configuration): Promise<Configuration> {
  const values: Record<string, Record<string, string>> = {}
  for (const { section, key, path } of await findPluginFolders(configuration)) {
    if (path.startsWith(data + sep)) continue
    const moved = join(data, 'elsewhere', relative(parse(path).root, path))
    values[section] = { ...values[section], [key]: moved }
  }
  return loadConfiguration(configuration.sourcesWith(values))
}
