import { Command, Option } from 'commander'
import type { CreateSessionOptions } from '../actions/session.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { parseDays, withUserOption } from '../common/configuration-options.ts'
import { withRecordCommands } from './session-records.ts'

/** `nodekeep session create|list|revoke` */
export function sessionCommand(process: CommandProcess): Command {
  const create = new Command('create')
    .description('create a session and print its token, for curl and scripts on this machine')
    .addOption(
      new Option('--wallet <address>', 'claim a node without an owner for this wallet').conflicts('user'),
    )
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
    .option('--json', 'print JSON: the token and its details')
  const group = new Command('session').description('create, list and revoke sessions').addCommand(
    withUserOption(create).action(async (options: CreateSessionOptions) => {
      const { createSession } = await import('../actions/session.ts')
      await createSession(options, process)
    }),
  )
  return withRecordCommands(group, 'session', process)
}
