import { Command, InvalidArgumentError } from 'commander'
import { isTokenName, tokenNameRule } from '../../sessions/issue-session.ts'
import type { CreateTokenOptions } from '../actions/token.ts'
import type { CommandProcess } from '../common/command-process.ts'
import {
  type PrintOptions,
  parseDays,
  withConfigurationOptions,
  withUserOption,
} from '../common/configuration-options.ts'
import { withRecordCommands } from './session-records.ts'

const actions = () => import('../actions/token.ts')

/** `nodekeep token create|list|revoke|scopes` */
export function tokenCommand(process: CommandProcess): Command {
  const create = new Command('create')
    .description('create an API token for a program and print it')
    .requiredOption('-n, --name <name>', 'the purpose of the token', parseName)
    .requiredOption(
      '-s, --scope <scope...>',
      'permissions, such as files:read; "token scopes" lists those of the node',
    )
    .option('--days <number|never>', 'days until it expires', parseDaysOrNever, 90)
    .option('--json', 'print JSON: the token and its details')
  const scopes = new Command('scopes')
    .description('list the scopes of the node')
    .option('--json', 'print JSON')
  const group = new Command('token')
    .description('create, list and revoke API tokens')
    .addCommand(
      withConfigurationOptions(scopes).action(async (options: PrintOptions) =>
        (await actions()).listScopes(options, process),
      ),
    )
    .addCommand(
      withUserOption(create).action(async (options: CreateTokenOptions) =>
        (await actions()).createToken(options, process),
      ),
    )
  return withRecordCommands(group, 'api-token', process)
}

function parseName(text: string): string {
  if (isTokenName(text)) return text
  throw new InvalidArgumentError(tokenNameRule)
}

function parseDaysOrNever(text: string): number | 'never' {
  return text === 'never' ? text : parseDays(text)
}
