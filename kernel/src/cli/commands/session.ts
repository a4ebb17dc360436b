import { Command, Option } from 'commander'
import type { CreateSessionOptions, ListSessionsOptions } from '../actions/session.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { parseDays } from '../common/configuration-options.ts'
import { type UserOptions, withUserOption } from '../common/user-option.ts'

const actions = () => import('../actions/session.ts')

/** `nodekeep session create|list|revoke` */
export function sessionCommand(process: CommandProcess): Command {
  const create = new Command('create')
    .description('create a session and print its token, for curl and scripts on this machine')
    .addOption(
      new Option('--wallet <address>', 'claim a node without an owner for this wallet').conflicts('user'),
    )
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
  const list = new Command('list').description('list sessions').option('--json', 'print JSON')
  const revoke = new Command('revoke')
    .description('end a session')
    .argument('<id>', 'the id that "session list" shows')
  return new Command('session')
    .description('create, list and revoke sessions')
    .addCommand(
      withUserOption(create).action(async (options: CreateSessionOptions) =>
        (await actions()).createSession(options, process),
      ),
    )
    .addCommand(
      withUserOption(list).action(async (options: ListSessionsOptions) =>
        (await actions()).listSessions(options, process),
      ),
    )
    .addCommand(
      withUserOption(revoke).action(async (id: string, options: UserOptions) =>
        (await actions()).revokeSession(id, options, process),
      ),
    )
}
