import { Command } from 'commander'
import type { UserAccount } from '../../identity/user-accounts.ts'
import type { UserAdministration } from '../../identity/user-administration.ts'
import { type ConfigurationOptions, withConfigurationOptions } from '../configuration-options.ts'
import { withIdentity } from '../identity-access.ts'

type Change = (administration: UserAdministration, uuid: string) => Promise<UserAccount>

const userArgument = 'username, uuid or wallet'

/** `nodekeep user list|set-wallet|rename|disable|enable|delete` */
export function userCommand(): Command {
  const command = new Command('user').description('show and change users')
  const list = new Command('list').description('list all users').option('--json', 'print JSON')
  command.addCommand(withConfigurationOptions(list).action(printUsers))
  command.addCommand(
    withValue(
      'set-wallet',
      'give a user another wallet, after one was lost',
      'address',
      (administration, uuid, value) => administration.setWallet(uuid, value),
    ),
  )
  command.addCommand(
    withValue('rename', 'change the name of a user', 'username', (administration, uuid, value) =>
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
    change(options, user, (administration, uuid) => administration[method](uuid)),
  )
}

function withValue(
  name: string,
  description: string,
  value: string,
  apply: (administration: UserAdministration, uuid: string, value: string) => Promise<UserAccount>,
): Command {
  const command = new Command(name)
    .description(description)
    .argument('<user>', userArgument)
    .argument(`<${value}>`, `the new ${value}`)
  return withConfigurationOptions(command).action(
    (user: string, given: string, options: ConfigurationOptions) =>
      change(options, user, (administration, uuid) => apply(administration, uuid, given)),
  )
}

async function change(options: ConfigurationOptions, name: string, apply: Change): Promise<void> {
  await withIdentity(options, async ({ administration, find }) => {
    const { uuid } = await find(name)
    process.stdout.write(`${describe(await apply(administration, uuid))}\n`)
  })
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
