import { Command } from 'commander'
import { type ConfigurationOptions, withConfigurationOptions } from '../configuration-options.ts'

/** The options of `nodekeep plugins list`. */
export interface PluginListOptions extends ConfigurationOptions {
  readonly json?: boolean
}

/** `nodekeep plugins list` */
export function pluginsCommand(): Command {
  const list = new Command('list')
    .description('list the plugins of the configuration, with what they declare')
    .option('--json', 'print JSON')
  return new Command('plugins').description('show the plugins').addCommand(
    withConfigurationOptions(list).action(async (options: PluginListOptions) => {
      const { listPlugins } = await import('../actions/plugins.ts')
      await listPlugins(options)
    }),
  )
}
