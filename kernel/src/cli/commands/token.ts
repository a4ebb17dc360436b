import { Command, InvalidArgumentError } from 'commander'
import { isTokenName, tokenNameRule } from '../../sessions/issue-session.ts'
import type { CreateTokenOptions, ListScopesOptions, ListTokensOptions } from '../actions/token.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { parseDays, withConfigurationOptions } from '../common/configuration-options.ts'
import { type UserOptions, withUserOption } from '../common/user-option.ts'

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
  const list = new Command('list').description('list API tokens').option('--json', 'print JSON')
  const revoke = new Command('revoke')
    .description('revoke an API token')
    .argument('<id>', 'the id that "token list" shows')
  const scopes = new Command('scopes')
    .description('list the scopes of the node')
    .option('--json', 'print JSON')
  return new Command('token')
    .description('create, list and revoke API tokens')
    .addCommand(
      withConfigurationOptions(scopes).action(async (options: ListScopesOptions) =>
        (await actions()).listScopes(options, process),
      ),
    )
    .addCommand(
      withUserOption(create).action(async (options: CreateTokenOptions) =>
        (await actions()).createToken(options, process),
      ),
    )
    .addCommand(
      withUserOption(list).action(async (options: ListTokensOptions) =>
        (await actions()).listTokens(options, process),
      ),
    )
    .addCommand(
      withUserOption(revoke).action(async (id: string, options: UserOptions) =>
        (await actions()).revokeToken(id, options, process),
      ),
    )
}

function parseName(text: string): string {
  if (isTokenName(text)) return text
  throw new InvalidArgumentError(tokenNameRule)
}

function parseDaysOrNever(text: string): number | 'never' {
  return text === 'never' ? text : parseDays(text)
}
