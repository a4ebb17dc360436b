import { conflict, parseWallet } from '@nodekeep/plugin-sdk'
import type { UserAccount } from '../../users/user-accounts.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { PrintOptions } from '../common/configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../common/identity-access.ts'
import { printJson, printTable } from '../common/print-lines.ts'

/** The changes of users that are commands. */
export type UserChange = 'rename' | 'disable' | 'enable' | 'delete'

/** The options of `nodekeep user set-wallet`. */
export interface WalletOptions extends PrintOptions {
  readonly swap?: boolean
}

/** The options of `nodekeep user add`. */
export interface AddUserOptions extends PrintOptions {
  readonly username?: string
}

type Apply = (identity: IdentityAccess, user: UserAccount, value: string) => Promise<UserAccount>

const changes: Readonly<Record<UserChange, Apply>> = {
  rename: ({ administration }, { uuid }, username) => administration.update(uuid, { username }),
  disable: ({ administration }, { uuid }) => administration.update(uuid, { disabled: true }),
  enable: ({ administration }, { uuid }) => administration.update(uuid, { disabled: false }),
  delete: ({ administration }, { uuid }) => administration.delete(uuid),
}

/**
 * `nodekeep user rename|disable|enable|delete`
 *
 * @param value the new name, for `rename`
 */
export async function changeUser(
  change: UserChange,
  name: string,
  options: PrintOptions,
  process: CommandProcess,
  value = '',
): Promise<void> {
  await withIdentity(options, process, async (identity) => {
    const user = await identity.find(name)
    print(await changes[change](identity, user, value), options, process)
  })
}

/** `nodekeep user add` */
export async function addUser(
  wallet: string,
  { username, ...options }: AddUserOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async ({ administration }) => {
    const user = await administration.add(wallet, username)
    print(user, options, process)
    if (options.json === true) return
    process.stderr.write(
      user.owner
        ? `${user.username} is the owner, who may always sign in.\n`
        : `${user.username} may sign in now. "nodekeep user disable ${user.username}" takes that back.\n`,
    )
  })
}

/** `nodekeep user list` */
export async function listUsers(options: PrintOptions, process: CommandProcess): Promise<void> {
  await withIdentity(options, process, async ({ accounts }) => {
    const users: UserAccount[] = []
    for await (const user of accounts.list()) users.push(user)
    if (options.json === true) printJson(users, process.stdout)
    else printTable(users.map(tableRow), 'There are no users yet.', process.stdout)
  })
}

/** `nodekeep user set-wallet` */
export async function setWallet(
  name: string,
  address: string,
  options: WalletOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async (identity) => {
    const { administration, accounts } = identity
    const user = await identity.find(name)
    refuseAgainstConfiguration(identity, user, address)
    const makeOwner = parseWallet(identity.configuredOwner ?? '') === parseWallet(address)
    const swap = options.swap === true ? { makeOwner } : null
    const changed = await administration.setWallet(user.uuid, address, swap)
    print(changed, options, process)
    const other = changed.wallet === user.wallet ? null : await accounts.findByWallet(user.wallet)
    if (other === null || options.json === true) return
    print(other, options, process)
    process.stderr.write(
      `${other.username} has the old wallet now. If nobody needs that user, run: nodekeep user delete ${other.username}\n`,
    )
  })
}

/** The next start would make the user of the old wallet the owner again, so the configuration must change first. */
function refuseAgainstConfiguration(identity: IdentityAccess, user: UserAccount, address: string): void {
  const configured = parseWallet(identity.configuredOwner ?? '')
  if (user.wallet !== configured || configured === parseWallet(address)) return
  throw conflict(
    `"auth.owner" in the configuration names ${configured}. Write the new wallet there, run this again, and restart the node. To give ${configured} to another user instead, run: nodekeep user set-wallet <its old wallet> ${configured} --swap`,
  )
}

/** Prints a user after a change: as a line for people, as JSON in the form of `user list`. */
function print(user: UserAccount, { json }: PrintOptions, { stdout }: CommandProcess): void {
  const { name, uuid, wallet, state } = tableRow(user)
  if (json === true) printJson(user, stdout)
  else stdout.write(`${[name, uuid, wallet, state].join('  ').trimEnd()}\n`)
}

function tableRow({ username, uuid, wallet, owner, addedAt, disabledAt, deletionDue }: UserAccount) {
  const state = [
    owner ? 'owner' : '',
    addedAt === null ? '' : 'added',
    disabledAt === null ? '' : `disabled since ${disabledAt.toISOString()}`,
    deletionDue === null ? '' : `data is removed on ${deletionDue.toISOString()}`,
  ].filter((part) => part !== '')
  return { name: username, uuid, wallet, state: state.join(', ') }
}
