import { Command } from 'commander'
import type { CommandProcess } from '../common/command-process.ts'
import {
  type PrintOptions,
  withConfigurationOptions,
  withListenOptions,
} from '../common/configuration-options.ts'

const actions = () => import('../actions/config.ts')

/** `nodekeep config print|check|schema` */
export function configCommand(process: CommandProcess): Command {
  const command = new Command('config').description('show or check the configuration')
  const add = (name: 'print' | 'check' | 'schema', description: string) => {
    const subcommand = new Command(name).description(description)
    if (name !== 'schema') subcommand.option('--json', 'print JSON')
    if (name === 'check')
      subcommand.option('--deep', 'also start the plugins, on an empty temporary data folder')
    command.addCommand(
      withListenOptions(withConfigurationOptions(subcommand)).action(async (options: PrintOptions) =>
        (await actions())[name](options, process),
      ),
    )
  }
  add('print', 'print every value with its origin; secrets are hidden')
  add('check', 'check the configuration and its plugins, without starting the node')
  add('schema', 'print a JSON Schema of the configuration, for editors')
  return command
}
