import { Command, Option } from 'commander'
import type { SuperviseOptions } from '../actions/describe-for-supervisor.ts'
import { withConfigurationOptions, withListenOptions } from '../common/configuration-options.ts'

/** `nodekeep supervise`. The supervisor asks this command for what its arguments and the configuration mean. */
export function superviseCommand(): Command {
  const command = new Command('supervise').description(
    'run the node, start it again after a crash, and change to this release if it is newer than the one in use',
  )
  const describe = new Option('--describe', 'print what the supervisor has to know, as JSON').hideHelp()
  const release = new Option(
    '--release <folder>',
    'change to this release, if it is newer than the one in use',
  )
  return withListenOptions(withConfigurationOptions(command))
    .addOption(describe)
    .addOption(release.hideHelp())
    .option('--back [reason]', 'go back to the former release first, with all data')
    .option('--again', 'change to this release, if it is newer, also after it did not work here')
    .option('--without-way-back', 'change to this release also if there is no way back afterwards')
    .action(async (options: SuperviseOptions) => {
      const { describeForSupervisor } = await import('../actions/describe-for-supervisor.ts')
      await describeForSupervisor(options)
    })
}
