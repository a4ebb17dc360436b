import { Command, Option } from 'commander'
import type { SuperviseOptions } from '../actions/describe-for-supervisor.ts'
import { withConfigurationOptions, withListenOptions } from '../common/configuration-options.ts'

/** `nodekeep supervise`, which `supervisor-program.ts` runs: its arguments are only read here. */
export function superviseCommand(): Command {
  const command = new Command('supervise').description(
    'run the node of an unpacked release, start it again after a crash, and change its release',
  )
  const describe = new Option('--describe', 'print what the supervisor has to know, as JSON').hideHelp()
  const failed = new Option('--failed-starts <count>', 'go back, after the release in use did not start')
  return withListenOptions(withConfigurationOptions(command))
    .addOption(describe)
    .addOption(failed.argParser(Number).hideHelp())
    .action(async (options: SuperviseOptions) => {
      const { describeForSupervisor } = await import('../actions/describe-for-supervisor.ts')
      await describeForSupervisor(options)
    })
}
