import { Command } from 'commander'
import type { AddUserOptions, UserChange, WalletOptions } from '../actions/user.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { type PrintOptions, withConfigurationOptions } from '../common/configuration-options.ts'

const actions = () => import('../actions/user.ts')

/** `nodekeep user list|add|set-wallet|rename|disable|enable|delete` */
export function userCommand(process: CommandProcess): Command {
  const list = new Command('list').description('list all users').option('--json', 'print JSON')
  return new Command('user')
    .description('show and change users')
    .addCommand(
      withConfigurationOptions(list).action(async (options: PrintOptions) =>
        (await actions()).listUsers(options, process),
      ),
    )
    .addCommand(add(process))
    .addCommand(setWallet(process))
    .addCommand(rename(process))
    .addCommand(plain(process, 'disable', 'end the sessions of a user and refuse further sign-ins'))
    .addCommand(plain(process, 'enable', 'admit a disabled user again; this also undoes a deletion'))
    .addCommand(
      plain(process, 'delete', 'disable a user, and remove their data after "auth.deletionGraceDays"'),
    )
}

function add(process: CommandProcess): Command {
  const command = new Command('add')
    .description('add a user, who may then sign in whatever "auth.admission" says')
    .argument('<wallet>', 'the wallet address of the user')
    .option('--username <username>', 'the name of a new user')
    .option('--json', 'print JSON')
  return withConfigurationOptions(command).action(async (wallet: string, options: AddUserOptions) =>
    (await actions()).addUser(wallet, options, process),
  )
}

function plain(process: CommandProcess, change: UserChange, description: string): Command {
  return forUser(change, description).action(async (user: string, options: PrintOptions) =>
    (await actions()).changeUser(change, user, options, process),
  )
}

function rename(process: CommandProcess): Command {
  return forUser('rename', 'change the name of a user')
    .argument('<username>', 'the new username')
    .action(async (user: string, username: string, options: PrintOptions) =>
      (await actions()).changeUser('rename', user, options, process, username),
    )
}

function setWallet(process: CommandProcess): Command {
  return forUser('set-wallet', 'give a user another wallet, for example after a loss')
    .argument('<address>', 'the new address')
    .option('--swap', 'if another user has the new wallet, give that user the old one')
    .action(async (user: string, address: string, options: WalletOptions) =>
      (await actions()).setWallet(user, address, options, process),
    )
}

function forUser(change: string, description: string): Command {
  const command = new Command(change).description(description).option('--json', 'print JSON')
  return withConfigurationOptions(command.argument('<user>', 'username, uuid or wallet'))
}
