import { Command } from 'commander'
import { type ConfigurationOptions, withConfigurationOptions } from '../configuration-options.ts'

/** The changes of users that are commands. */
export type UserChange = 'set-wallet' | 'rename' | 'disable' | 'enable' | 'delete'

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
    .addCommand(withValue('set-wallet', 'give a user another wallet, after one was lost', 'address'))
    .addCommand(withValue('rename', 'change the name of a user', 'username'))
    .addCommand(plain('disable', 'end the sessions of a user and let them sign in no more'))
    .addCommand(plain('enable', 'let a disabled user in again; takes a deletion back'))
    .addCommand(plain('delete', 'disable a user, and remove their data when the time of grace is over'))
}

function plain(change: UserChange, description: string): Command {
  return forUser(change, description).action(async (user: string, options: ConfigurationOptions) =>
    (await actions()).changeUser(change, user, options),
  )
}

function withValue(change: UserChange, description: string, value: string): Command {
  return forUser(change, description)
    .argument(`<${value}>`, `the new ${value}`)
    .action(async (user: string, given: string, options: ConfigurationOptions) =>
      (await actions()).changeUser(change, user, options, given),
    )
}

function forUser(change: UserChange, description: string): Command {
  const command = new Command(change).description(description)
  return withConfigurationOptions(command.argument('<user>', 'username, uuid or wallet'))
}
