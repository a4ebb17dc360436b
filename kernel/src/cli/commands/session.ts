import { NodekeepError } from '@nodekeep/plugin-sdk'
import { Command } from 'commander'
import { issueSession } from '../../identity/issue-session.ts'
import { parseWallet } from '../../identity/wallet-address.ts'
import { type ConfigurationOptions, parseDays, withConfigurationOptions } from '../configuration-options.ts'
import { withIdentity } from '../identity-access.ts'

interface CreateOptions extends ConfigurationOptions {
  readonly user?: string
  readonly wallet?: string
  readonly days?: number
}

/** `nodekeep session create` */
export function sessionCommand(): Command {
  const create = new Command('create')
    .description('make a session of the owner and print its token, for curl and scripts on this machine')
    .option('-u, --user <user>', 'username, uuid or wallet of another user')
    .option('--wallet <address>', 'claim a node that has no owner yet for this wallet')
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
  return new Command('session')
    .description('make sessions')
    .addCommand(withConfigurationOptions(create).action(createSession))
}

async function createSession(options: CreateOptions): Promise<void> {
  await withIdentity(options, async ({ accounts, sessions, find, claim, expiryDays }) => {
    if (options.wallet !== undefined && (await accounts.owner()) === null)
      await claim(checked(options.wallet))
    const user = await find(options.user)
    if (options.wallet !== undefined && parseWallet(options.wallet) !== user.wallet) {
      throw new NodekeepError(
        'CONFLICT',
        `The node belongs to the wallet ${user.wallet}, not to ${options.wallet}.`,
      )
    }
    const token = await issueSession(sessions, {
      userUuid: user.uuid,
      label: 'nodekeep session create',
      expiryDays: options.days ?? expiryDays,
    })
    process.stdout.write(`${token}\n`)
    process.stderr.write(
      `A session of ${user.username}. Use it as: curl -H "Authorization: Bearer <token>" …\n`,
    )
  })
}

function checked(address: string): string {
  const wallet = parseWallet(address)
  if (wallet !== null) return wallet
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `"${address}" is no wallet address: 0x and 40 hexadecimal digits (EIP-55).`,
  )
}
