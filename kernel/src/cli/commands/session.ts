import { NodekeepError } from '@nodekeep/plugin-sdk'
import { Command, Option } from 'commander'
import { issueSession } from '../../identity/issue-session.ts'
import type { UserAccount } from '../../identity/user-accounts.ts'
import { parseWallet } from '../../identity/wallet-address.ts'
import { type ConfigurationOptions, parseDays, withConfigurationOptions } from '../configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../identity-access.ts'

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
    .addOption(
      new Option('--wallet <address>', 'claim a node that has no owner yet for this wallet').conflicts(
        'user',
      ),
    )
    .option('--days <number>', 'days until the session ends (default: session.expiryDays)', parseDays)
  return new Command('session')
    .description('make sessions')
    .addCommand(withConfigurationOptions(create).action(createSession))
}

async function createSession(options: CreateOptions): Promise<void> {
  await withIdentity(options, async (identity) => {
    const { sessions, expiryDays } = identity
    const user =
      options.wallet === undefined
        ? await identity.find(options.user)
        : await claim(identity, checked(options.wallet))
    identity.refuseLockedOut(user)
    const { token } = await issueSession(sessions, {
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

/** The owner, who has this wallet, or has it from now on when there was none. */
async function claim({ accounts, owner }: IdentityAccess, wallet: string): Promise<UserAccount> {
  if ((await owner()) === null) await accounts.ensure(wallet, true)
  const user = await owner()
  if (user?.wallet === wallet) return user
  throw new NodekeepError('CONFLICT', `The node belongs to the wallet ${user?.wallet}, not to ${wallet}.`)
}

function checked(address: string): string {
  const wallet = parseWallet(address)
  if (wallet !== null) return wallet
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `"${address}" is no wallet address: 0x and 40 hexadecimal digits (EIP-55).`,
  )
}
