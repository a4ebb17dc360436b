import { Command, Option } from 'commander'
import type { StartOptions } from '../actions/start.ts'
import { withConfigurationOptions, withListenOptions } from '../common/configuration-options.ts'
import { limitYoungGeneration } from '../common/young-generation.ts'

/** `nodekeep start` */
export function startCommand(): Command {
  const command = new Command('start').description('start the node (this is the default)')
  const trial = new Option(
    '--trial <socket>',
    'let no traffic in until the parent process admits it',
  ).hideHelp()
  const configured = new Option(
    '--configured-by-parent',
    'ask the parent process for the configuration',
  ).hideHelp()
  const supervised = new Option('--supervised', 'let the parent process supervise the node').hideHelp()
  const watched = new Option('--watched', 'stop when the parent process ends').hideHelp()
  return withListenOptions(withConfigurationOptions(command))
    .addOption(trial)
    .addOption(configured)
    .addOption(supervised)
    .addOption(watched)
    .option(
      '--watch',
      'start the node again when its configuration or a plugin changes, for authors of plugins',
    )
    .action(async ({ watch, ...options }: StartOptions & { readonly watch?: boolean }) => {
      if (watch === true) {
        const { startAndWatch } = await import('../actions/start-and-watch.ts')
        return startAndWatch(options)
      }
      limitYoungGeneration()
      const { start } = await import('../actions/start.ts')
      await start(options)
    })
}
