import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserAccount } from '../../identity/user-accounts.ts'
import { parseWallet } from '../../identity/wallet-address.ts'
import type { UserChange, UserListOptions } from '../commands/user.ts'
import type { ConfigurationOptions } from '../configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../identity-access.ts'

type Apply = (identity: IdentityAccess, user: UserAccount, value: string) => Promise<UserAccount>

const changes: Readonly<Record<UserChange, Apply>> = {
  'set-wallet': setWallet,
  rename: ({ administration }, { uuid }, username) => administration.rename(uuid, username),
  disable: ({ administration }, { uuid }) => administration.disable(uuid),
  enable: ({ administration }, { uuid }) => administration.enable(uuid),
  delete: ({ administration }, { uuid }) => administration.delete(uuid),
}

/**
 * `nodekeep user set-wallet|rename|disable|enable|delete`
 *
 * @param value the new wallet or name, where the change has one
 */
export async function changeUser(
  change: UserChange,
  name: string,
  options: ConfigurationOptions,
  value = '',
): Promise<void> {
  await withIdentity(options, async (identity) => {
    const user = await identity.find(name)
    process.stdout.write(`${describe(await changes[change](identity, user, value))}\n`)
  })
}

/** `nodekeep user list` */
export async function listUsers(options: UserListOptions): Promise<void> {
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

function describe({ username, uuid, wallet, owner, disabledAt, deletionDue }: UserAccount): string {
  const standing = [
    owner ? 'owner' : '',
    disabledAt === null ? '' : `disabled since ${disabledAt.toISOString()}`,
    deletionDue === null ? '' : `data goes on ${deletionDue.toISOString()}`,
  ].filter((part) => part !== '')
  return [username.padEnd(30), uuid, wallet, standing.join(', ')].join('  ').trimEnd()
}
