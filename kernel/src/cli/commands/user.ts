import { Command } from 'commander'
import { type ConfigurationOptions, withConfigurationOptions } from '../configuration-options.ts'

/** The changes of users that are commands. */
export type UserChange = 'rename' | 'disable' | 'enable' | 'delete'

/** The options of `nodekeep user set-wallet`. */
export interface WalletOptions extends ConfigurationOptions {
  readonly swap?: boolean
}

/** The options of `nodekeep user list`. */
export interface UserListOptions extends ConfigurationOptions {
  readonly json?: boolean
}

const actions = () => import('../actions/user.ts')

/** `nodekeep user list|set-wallet|rename|disable|enable|delete` */
export function userCommand(): Command {
  const list = new Command('list').description('list all users').option('--json', 'print JSON')
  return new Command('user')
    .description('show and change users')
    .addCommand(
      withConfigurationOptions(list).action(async (options: UserListOptions) =>
        (await actions()).listUsers(options),
      ),
    )
    .addCommand(setWallet())
    .addCommand(rename())
    .addCommand(plain('disable', 'end the sessions of a user and let them sign in no more'))
    .addCommand(plain('enable', 'let a disabled user in again; takes a deletion back'))
    .addCommand(plain('delete', 'disable a user, and remove their data when the time of grace is over'))
}

function plain(change: UserChange, description: string): Command {
  return forUser(change, description).action(async (user: string, options: ConfigurationOptions) =>
    (await actions()).changeUser(change, user, options),
  )
}

function rename(): Command {
  return forUser('rename', 'change the name of a user')
    .argument('<username>', 'the new username')
    .action(async (user: string, username: string, options: ConfigurationOptions) =>
      (await actions()).changeUser('rename', user, options, username),
    )
}

function setWallet(): Command {
  return forUser('set-wallet', 'give a user another wallet, after one was lost')
    .argument('<address>', 'the new address')
    .option('--swap', "when another user has it, give them this user's old wallet")
    .action(async (user: string, address: string, options: WalletOptions) =>
      (await actions()).setWallet(user, address, options),
    )
}

function forUser(change: string, description: string): Command {
  const command = new Command(change).description(description)
  return withConfigurationOptions(command.argument('<user>', 'username, uuid or wallet'))
}
