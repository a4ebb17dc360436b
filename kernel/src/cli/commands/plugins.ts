import { Command } from 'commander'
import type { CommandProcess } from '../common/command-process.ts'
import { type PrintOptions, withConfigurationOptions } from '../common/configuration-options.ts'

/** `nodekeep plugins list` */
export function pluginsCommand(process: CommandProcess): Command {
  const list = new Command('list')
    .description('list the plugins of the configuration with their states and declarations')
    .option('--json', 'print JSON')
  return new Command('plugins').description('show, add and remove plugins').addCommand(
    withConfigurationOptions(list).action(async (options: PrintOptions) => {
      const { listPlugins } = await import('../actions/plugins.ts')
      await listPlugins(options, process)
    }),
  )
}
