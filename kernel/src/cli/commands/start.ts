import { Command } from 'commander'
import {
  type ConfigurationOptions,
  withConfigurationOptions,
  withListenOptions,
} from '../common/configuration-options.ts'
import { limitYoungGeneration } from '../common/young-generation.ts'

/** `nodekeep start` */
export function startCommand(): Command {
  const command = new Command('start').description('start the node (this is the default)')
  return withListenOptions(withConfigurationOptions(command)).action(
    async (options: ConfigurationOptions) => {
      limitYoungGeneration()
      const { start } = await import('../actions/start.ts')
      await start(options)
    },
  )
}
