import { messageOf } from '@nodekeep/plugin-sdk'
import { Command } from 'commander'
import type { PluginEntry } from '../../configuration/plugin-entries.ts'
import { locatePlugin } from '../../plugins/locate-plugin.ts'
import type { CommandDeclaration, PluginManifest } from '../../plugins/plugin-manifest.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { type ConfigurationOptions, withConfigurationOptions } from '../common/configuration-options.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/**
 * Adds the commands of the configuration's plugins below their ids, such as `nodekeep backup create`, and some of them without it. Only manifests are read, so
 * a broken plugin breaks no other command.
 *
 * @param args the command line, for the configuration that it names
 * @returns the reason why the configuration could not be read; `null` if it could
 */
export async function addPluginCommands(
  program: Command,
  args: readonly string[],
  process: CommandProcess,
): Promise<string | null> {
  let entries: readonly PluginEntry[]
  try {
    entries = (await readConfiguration(configurationOptions(args), process)).plugins
  } catch (error) {
    return messageOf(error)
  }
  const isTaken = (name: string) => program.commands.some((command) => command.name() === name)
  const topLevel: Command[] = []
  for (const entry of entries.filter(({ enabled, id }) => enabled && !isTaken(id))) {
    const manifest = await locatePlugin(entry).catch(() => null)
    if (manifest?.commands === undefined) continue
    program.addCommand(pluginCommand(entry, manifest, process))
    for (const [name, declared] of Object.entries(manifest.commands.list))
      if (declared.topLevel) topLevel.push(declaredCommand(entry, manifest, name, declared, process))
  }
  for (const command of topLevel) if (!isTaken(command.name())) program.addCommand(command)
  return null
}

/** Reads the options that select the configuration, and nothing else, from a command line. */
function configurationOptions(args: readonly string[]): ConfigurationOptions {
  const reader = withConfigurationOptions(new Command())
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
  return reader.parse(args, { from: 'user' }).opts()
}

function pluginCommand(entry: PluginEntry, manifest: PluginManifest, process: CommandProcess): Command {
  const group = new Command(entry.id).description(manifest.description)
  for (const [name, declared] of Object.entries(manifest.commands?.list ?? {})) {
    group.addCommand(declaredCommand(entry, manifest, name, declared, process))
  }
  return group
}

function declaredCommand(
  entry: PluginEntry,
  manifest: PluginManifest,
  name: string,
  declared: CommandDeclaration,
  process: CommandProcess,
): Command {
  const { description, options } = declared
  const command = withConfigurationOptions(new Command(name).description(description))
  if (declared.arguments !== '') command.arguments(declared.arguments)
  for (const [flags, text] of Object.entries(options)) command.option(flags, text)
  command.option('--json', 'print lists and states as JSON')
  return command.action(async () => {
    const { runPluginCommand } = await import('../actions/plugin-command.ts')
    await runPluginCommand({ entry, manifest, name, args: command.args, options: command.opts() }, process)
  })
}
