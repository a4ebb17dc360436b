import { Command } from 'commander'
import type { SessionRecord } from '../../sessions/session-table.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { type ListOptions, type UserOptions, withUserOption } from '../common/configuration-options.ts'

const actions = () => import('../actions/session-records.ts')

/** Adds the commands `list` and `revoke`. */
export function withRecordCommands(
  group: Command,
  kind: SessionRecord['kind'],
  process: CommandProcess,
): Command {
  const [name, some, one] =
    kind === 'session' ? ['session', 'sessions', 'a session'] : ['token', 'API tokens', 'an API token']
  const list = new Command('list').description(`list ${some}`).option('--json', 'print JSON')
  const revoke = new Command('revoke')
    .description(`revoke ${one}`)
    .argument('<id>', `the id that "${name} list" shows`)
  return group
    .addCommand(
      withUserOption(list).action(async (options: ListOptions) =>
        (await actions()).listRecords(kind, options, process),
      ),
    )
    .addCommand(
      withUserOption(revoke).action(async (id: string, options: UserOptions) =>
        (await actions()).revokeRecord(kind, id, options, process),
      ),
    )
}
