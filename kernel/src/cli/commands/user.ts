import { NodekeepError } from '@nodekeep/plugin-sdk'
import { Command } from 'commander'
import type { UserAccount } from '../../identity/user-accounts.ts'
import { parseWallet } from '../../identity/wallet-address.ts'
import { type ConfigurationOptions, withConfigurationOptions } from '../configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../identity-access.ts'

type Change = (identity: IdentityAccess, user: UserAccount) => Promise<UserAccount>

const userArgument = 'username, uuid or wallet'

/** `nodekeep user list|set-wallet|rename|disable|enable|delete` */
export function userCommand(): Command {
  const command = new Command('user').description('show and change users')
  const list = new Command('list').description('list all users').option('--json', 'print JSON')
  command.addCommand(withConfigurationOptions(list).action(printUsers))
  command.addCommand(
    withValue('set-wallet', 'give a user another wallet, after one was lost', 'address', setWallet),
  )
  command.addCommand(
    withValue('rename', 'change the name of a user', 'username', ({ administration }, { uuid }, value) =>
      administration.rename(uuid, value),
    ),
  )
  command.addCommand(plain('disable', 'end the sessions of a user and let them sign in no more', 'disable'))
  command.addCommand(plain('enable', 'let a disabled user in again; takes a deletion back', 'enable'))
  command.addCommand(
    plain('delete', 'disable a user, and remove their data when the time of grace is over', 'delete'),
  )
  return command
}

function plain(name: string, description: string, method: 'disable' | 'enable' | 'delete'): Command {
  const command = new Command(name).description(description).argument('<user>', userArgument)
  return withConfigurationOptions(command).action((user: string, options: ConfigurationOptions) =>
    change(options, user, ({ administration }, { uuid }) => administration[method](uuid)),
  )
}

function withValue(
  name: string,
  description: string,
  value: string,
  apply: (identity: IdentityAccess, user: UserAccount, value: string) => Promise<UserAccount>,
): Command {
  const command = new Command(name)
    .description(description)
    .argument('<user>', userArgument)
    .argument(`<${value}>`, `the new ${value}`)
  return withConfigurationOptions(command).action(
    (user: string, given: string, options: ConfigurationOptions) =>
      change(options, user, (identity, account) => apply(identity, account, given)),
  )
}

async function change(options: ConfigurationOptions, name: string, apply: Change): Promise<void> {
  await withIdentity(options, async (identity) => {
    const user = await identity.find(name)
    process.stdout.write(`${describe(await apply(identity, user))}\n`)
  })
}

/** The next start would make the old wallet's user the owner again, so the configuration has to change first. */
function setWallet(identity: IdentityAccess, user: UserAccount, address: string): Promise<UserAccount> {
  const { administration, configuredOwner = '' } = identity
  if (user.wallet === parseWallet(configuredOwner) && user.wallet !== parseWallet(address)) {
    throw new NodekeepError(
      'CONFLICT',
      `"auth.owner" in the configuration names ${user.wallet}. Write the new wallet there, run this again, and restart the node.`,
    )
  }
  return administration.setWallet(user.uuid, address)
}

async function printUsers(options: ConfigurationOptions & { readonly json?: boolean }): Promise<void> {
  await withIdentity(options, async ({ accounts }) => {
    const users: UserAccount[] = []
    for await (const user of accounts.list()) users.push(user)
    if (options.json === true) process.stdout.write(`${JSON.stringify(users, null, 2)}\n`)
    else
      process.stdout.write(
        users.length === 0 ? 'There are no users yet.\n' : `${users.map(describe).join('\n')}\n`,
      )
  })
}

function describe({ username, uuid, wallet, owner, disabledAt, deletionDue }: UserAccount): string {
  const standing = [
    owner ? 'owner' : '',
    disabledAt === null ? '' : `disabled since ${disabledAt.toISOString()}`,
    deletionDue === null ? '' : `data goes on ${deletionDue.toISOString()}`,
  ].filter((part) => part !== '')
  return [username.padEnd(30), uuid, wallet, standing.join(', ')].join('  ').trimEnd()
}
