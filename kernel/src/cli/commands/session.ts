import { Command, Option } from 'commander'
import type { SessionOptions } from '../actions/session.ts'
import { parseDays, withConfigurationOptions } from '../common/configuration-options.ts'

/** `nodekeep session create` */
export function sessionCommand(): Command {
  const create = new Command('create')
    .description('create a session for the owner and print its token, for curl and scripts on this machine')
    .option('-u, --user <user>', 'username, uuid or wallet of another user')
    .addOption(
      new Option('--wallet <address>', 'claim a node without an owner for this wallet').conflicts('user'),
    )
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
  return new Command('session').description('create sessions').addCommand(
    withConfigurationOptions(create).action(async (options: SessionOptions) => {
      const { createSession } = await import('../actions/session.ts')
      await createSession(options)
    }),
  )
}
