import { Command, InvalidArgumentError } from 'commander'
import { isTokenName, tokenNameRule } from '../../sessions/issue-session.ts'
import type { CreateTokenOptions, ListTokensOptions } from '../actions/token.ts'
import { parseDays } from '../common/configuration-options.ts'
import { type UserOptions, withUserOption } from '../common/user-option.ts'

const actions = () => import('../actions/token.ts')

/** `nodekeep token create|list|revoke` */
export function tokenCommand(): Command {
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
      withUserOption(create).action(async (options: CreateTokenOptions) =>
        (await actions()).createToken(options),
      ),
    )
    .addCommand(
      withUserOption(list).action(async (options: ListTokensOptions) =>
        (await actions()).listTokens(options),
      ),
    )
    .addCommand(
      withUserOption(revoke).action(async (id: string, options: UserOptions) =>
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
