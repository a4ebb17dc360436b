import { Command, InvalidArgumentError } from 'commander'
import { isTokenName, tokenNameRule } from '../../sessions/issue-session.ts'
import { type ConfigurationOptions, parseDays, withConfigurationOptions } from '../configuration-options.ts'

/** The options of `nodekeep token …`. */
export interface TokenOptions extends ConfigurationOptions {
  readonly user?: string
}

/** The options of `nodekeep token create`. */
export interface TokenWishOptions extends TokenOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly days: number | 'never'
}

const actions = () => import('../actions/token.ts')

/** `nodekeep token create|list|revoke` */
export function tokenCommand(): Command {
  const forUser = (command: Command) =>
    withConfigurationOptions(command).option(
      '-u, --user <user>',
      'username, uuid or wallet (default: the owner)',
    )
  const create = new Command('create')
    .description('make an API token for a program and print it')
    .requiredOption('-n, --name <name>', 'what it is for', parseName)
    .requiredOption(
      '-s, --scope <scope...>',
      'what it may do, such as files:read; plugins say which there are, and a misspelt one opens nothing',
    )
    .option('--days <number|never>', 'days until it expires', parseDaysOrNever, 90)
  const list = new Command('list').description('list API tokens')
  const revoke = new Command('revoke').description('end an API token').argument('<id>', 'its id, as listed')
  return new Command('token')
    .description('make, list and revoke API tokens')
    .addCommand(
      forUser(create).action(async (options: TokenWishOptions) => (await actions()).createToken(options)),
    )
    .addCommand(forUser(list).action(async (options: TokenOptions) => (await actions()).listTokens(options)))
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
