import { Command, InvalidArgumentError } from 'commander'
import { isTokenName, tokenNameRule } from '../../sessions/issue-session.ts'
import type { CreateTokenOptions, ListTokensOptions, TokenOptions } from '../actions/token.ts'
import { parseDays, withConfigurationOptions } from '../common/configuration-options.ts'

const actions = () => import('../actions/token.ts')

/** `nodekeep token create|list|revoke` */
export function tokenCommand(): Command {
  const forUser = (command: Command) =>
    withConfigurationOptions(command).option(
      '-u, --user <user>',
      'username, uuid or wallet (default: the owner)',
    )
  const create = new Command('create')
    .description('create an API token for a program and print it')
    .requiredOption('-n, --name <name>', 'the purpose of the token', parseName)
    .requiredOption(
      '-s, --scope <scope...>',
      'permissions, such as files:read; the README of each plugin lists its scopes, and a misspelled scope permits nothing',
    )
    .option('--days <number|never>', 'days until it expires', parseDaysOrNever, 90)
  const list = new Command('list').description('list API tokens').option('--json', 'print JSON')
  const revoke = new Command('revoke')
    .description('revoke an API token')
    .argument('<id>', 'the id that "token list" shows')
  return new Command('token')
    .description('create, list and revoke API tokens')
    .addCommand(
      forUser(create).action(async (options: CreateTokenOptions) => (await actions()).createToken(options)),
    )
    .addCommand(
      forUser(list).action(async (options: ListTokensOptions) => (await actions()).listTokens(options)),
    )
    .addCommand(
      forUser(revoke).action(async (id: string, options: TokenOptions) =>
        (await actions()).revokeToken(id, options),
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
