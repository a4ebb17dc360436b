import { Command, Option } from 'commander'
import type { SuperviseOptions } from '../actions/supervise.ts'
import { withConfigurationOptions, withListenOptions } from '../common/configuration-options.ts'

/** `nodekeep supervise` */
export function superviseCommand(): Command {
  const command = new Command('supervise').description(
    'run the node of an unpacked release, start it again after a crash, and change its release',
  )
  const describe = new Option('--describe', 'print what the supervisor has to know, as JSON').hideHelp()
  const failed = new Option('--failed-starts <count>', 'go back, after the release in use did not start')
  return withListenOptions(withConfigurationOptions(command))
    .addOption(describe)
    .addOption(failed.argParser(Number).hideHelp())
    .action(async ({ describe: describes, ...options }: SuperviseOptions & { describe?: boolean }) => {
      if (describes === true) {
        const { describeForSupervisor } = await import('../actions/describe-for-supervisor.ts')
        await describeForSupervisor(options)
        return
      }
      const { runSupervisor } = await import('../actions/supervise.ts')
      process.exit(await runSupervisor(options))
    })
}
