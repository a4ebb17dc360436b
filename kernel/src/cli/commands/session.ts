import { Command, Option } from 'commander'
import { type ConfigurationOptions, parseDays, withConfigurationOptions } from '../configuration-options.ts'

/** The options of `nodekeep session create`. */
export interface SessionOptions extends ConfigurationOptions {
  readonly user?: string
  readonly wallet?: string
  readonly days?: number
}

/** `nodekeep session create` */
export function sessionCommand(): Command {
  const create = new Command('create')
    .description('make a session of the owner and print its token, for curl and scripts on this machine')
    .option('-u, --user <user>', 'username, uuid or wallet of another user')
    .addOption(
      new Option('--wallet <address>', 'claim a node that has no owner yet for this wallet').conflicts(
        'user',
      ),
    )
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
  return new Command('session').description('make sessions').addCommand(
    withConfigurationOptions(create).action(async (options: SessionOptions) => {
      const { createSession } = await import('../actions/session.ts')
      await createSession(options)
    }),
  )
}
