import { Command, InvalidArgumentError } from 'commander'
import { issueApiToken } from '../../identity/issue-session.ts'
import { type ConfigurationOptions, parseDays, withConfigurationOptions } from '../configuration-options.ts'
import { withIdentity } from '../identity-access.ts'

interface UserOptions extends ConfigurationOptions {
  readonly user?: string
}

interface CreateOptions extends UserOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly days: number | 'never'
}

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
      'what it may do, such as files:read; the plugins say which there are',
    )
    .option('--days <number|never>', 'days until it expires', parseDaysOrNever, 90)
  const list = new Command('list').description('list API tokens')
  const revoke = new Command('revoke').description('end an API token').argument('<id>', 'its id, as listed')
  return new Command('token')
    .description('make, list and revoke API tokens')
    .addCommand(forUser(create).action(createToken))
    .addCommand(forUser(list).action(listTokens))
    .addCommand(forUser(revoke).action(revokeToken))
}

async function createToken({ name, scope, days, ...options }: CreateOptions): Promise<void> {
  await withIdentity(options, async ({ sessions, find, refuseLockedOut }) => {
    const user = await find(options.user)
    refuseLockedOut(user)
    const { uuid, username } = user
    const expiryDays = days === 'never' ? null : days
    const { token, record } = await issueApiToken(sessions, {
      userUuid: uuid,
      name,
      scopes: [...new Set(scope)],
      expiryDays,
    })
    process.stdout.write(`${token}\n`)
    process.stderr.write(`An API token of ${username}, id ${record.id}. It is not shown again.\n`)
  })
}

async function listTokens(options: UserOptions): Promise<void> {
  await withIdentity(options, async ({ sessions, find }) => {
    const { uuid } = await find(options.user)
    const tokens = (await sessions.listByUser(uuid)).filter(({ kind }) => kind === 'api-token')
    const lines = tokens.map(({ id, label, scopes, expiresAt }) =>
      [id, label, scopes?.join(','), expiresAt?.toISOString() ?? 'never expires'].join('  '),
    )
    process.stdout.write(lines.length === 0 ? 'There are no API tokens.\n' : `${lines.join('\n')}\n`)
  })
}

async function revokeToken(id: string, options: UserOptions): Promise<void> {
  await withIdentity(options, async ({ administration, find }) => {
    const { uuid } = await find(options.user)
    await administration.endSession(uuid, id)
    process.stdout.write('Revoked. A running node refuses it within 5 seconds.\n')
  })
}

function parseName(text: string): string {
  if (text.length >= 1 && text.length <= 100) return text
  throw new InvalidArgumentError('A name has 1 to 100 characters.')
}

function parseDaysOrNever(text: string): number | 'never' {
  return text === 'never' ? text : parseDays(text)
}
