import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CommandContext, CommandRun } from '@nodekeep/plugin-sdk'
import { lockDataFolder } from '@nodekeep/plugin-sdk/data-folder'
import { isCommands } from '@nodekeep/plugin-sdk/host'
import { createRestores } from '../../composition/create-restores.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { PluginEntry } from '../../configuration/plugin-entries.ts'
import { runInContextOf } from '../../faults/fault-context.ts'
import { createLogger } from '../../log/logger.ts'
import { Secrets } from '../../log/secrets.ts'
import { PluginFailure } from '../../plugins/failure.ts'
import { importPlugin } from '../../plugins/import-plugin.ts'
import type { PluginManifest } from '../../plugins/plugin-manifest.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { connectToNode } from '../common/node-client.ts'
import { readConfiguration } from '../common/read-configuration.ts'
import { watchCommand } from '../common/watch-command.ts'
import { askForSecret, askOnTerminal, outputOnTerminal } from './command-terminal.ts'

/** A call of a plugin's command. */
interface PluginCommandCall {
  readonly entry: PluginEntry
  readonly manifest: PluginManifest
  readonly name: string
  readonly args: readonly string[]
  readonly options: ConfigurationOptions & Readonly<Record<string, unknown>>
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Runs a command of a plugin. What it took, such as a session or the lock of the data folder, is given back at its end. */
export function runPluginCommand(call: PluginCommandCall, process: CommandProcess): Promise<void> {
  // The context names the plugin if it keeps the event loop busy. Errors that nobody handles are left to Node.
  return runInContextOf({ id: call.entry.id, faulted() {} }, () => runInContext(call, process))
}

async function runInContext(call: PluginCommandCall, process: CommandProcess): Promise<void> {
  const { entry, manifest, name, options } = call
  const configuration = await readConfiguration(options, process)
  const aborted = new AbortController()
  const abort = () => aborted.abort(new Error('The command was interrupted.'))
  const listen = () => {
    for (const signal of signals) process.once(signal, abort)
  }
  const ignore = () => {
    for (const signal of signals) process.off(signal, abort)
  }
  watchCommand(process, { ignore, listen })
  const config = await sectionOf(configuration, manifest)
  const run = await importCommand(manifest, name)
  await using taken = new AsyncDisposableStack()
  listen()
  const { data } = configuration.kernel
  const secrets = new Secrets()
  for (const secret of configuration.secretValues()) secrets.add(secret)
  const label = `nodekeep ${entry.id} ${name}`
  const restores = createRestores(configuration)
  let isExclusive = false
  const exclusively = <T>(change: () => T): T => {
    if (isExclusive) return change()
    throw new Error('A command changes restores while no node runs: it has to call exclusive() before.')
  }
  const context: CommandContext = {
    id: entry.id,
    config,
    dataDir: join(data, 'plugins', entry.id),
    nodeDataDir: data,
    args: call.args,
    options: options as CommandContext['options'],
    output: outputOnTerminal(options.json === true, process),
    log: createLogger({ level: 'warn', format: 'pretty', secrets, destination: process.stderr }),
    signal: aborted.signal,
    confirm: (question) => askOnTerminal(question, aborted.signal, process),
    ask: (question) => askForSecret(question, aborted.signal, process),
    async node() {
      const client = await connectToNode(data, options, process, label)
      if (client !== null) taken.use(client)
      return client
    },
    async exclusive() {
      const lock = lockDataFolder(data)
      taken.defer(() => lock.release())
      isExclusive = true
    },
    restores: {
      ...restores,
      plan: async (plan) => exclusively(() => restores.plan(plan)),
      cancel: async () => exclusively(() => restores.cancel()),
    },
  }
  await run(context as CommandContext<never>)
}

async function sectionOf(configuration: Configuration, manifest: PluginManifest): Promise<unknown> {
  const plugin = await importPlugin(manifest, configuration.kernel.loader.importTimeoutMs)
  return configuration.section(manifest.section, plugin.config, manifest.folders.keys())
}

async function importCommand({ commands, packageName }: PluginManifest, name: string): Promise<CommandRun> {
  const module = commands && ((await import(pathToFileURL(commands.entry).href)) as { default?: unknown })
  if (!isCommands(module?.default)) {
    const problem = `The default export of ${commands?.entry} must be the result of defineCommands.`
    throw new PluginFailure('shape', problem)
  }
  const run = module.default.runs[name]
  if (run !== undefined) return run
  throw new PluginFailure(
    'shape',
    `${packageName} declares the command "${name}", but ${commands?.entry} defines none.`,
  )
}
