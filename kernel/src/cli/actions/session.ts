import { conflict } from '@nodekeep/plugin-sdk'
import type { UserAccount } from '../../users/user-accounts.ts'
import { walletOf } from '../../users/user-administration.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ListOptions } from '../common/configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../common/identity-access.ts'
import { printJson } from '../common/print-lines.ts'
import { viewOfSession } from './session-records.ts'

/** The options of `nodekeep session create`. */
export interface CreateSessionOptions extends ListOptions {
  readonly wallet?: string
  readonly days?: number
}

/** `nodekeep session create` */
export async function createSession(options: CreateSessionOptions, process: CommandProcess): Promise<void> {
  await withIdentity(options, process, async (identity) => {
    const { expiryDays } = identity
    const user =
      options.wallet === undefined
        ? await identity.find(options.user)
        : await claim(identity, walletOf(options.wallet))
    identity.refuseLockedOut(user)
    const { token, record } = await identity.issueSession({
      userUuid: user.uuid,
      label: 'nodekeep session create',
      expiryDays: options.days ?? expiryDays,
    })
    if (options.json === true) {
      printJson({ token, username: user.username, details: viewOfSession(record) }, process.stdout)
      return
    }
    process.stdout.write(`${token}\n`)
    process.stderr.write(
      `This is a session of ${user.username}. Use it with: curl -H "Authorization: Bearer <token>" …\n`,
    )
  })
}

/** Returns the owner with this wallet. A node without an owner is claimed for the wallet. */
async function claim({ accounts, owner }: IdentityAccess, wallet: string): Promise<UserAccount> {
  if ((await owner()) === null) await accounts.ensure(wallet, true)
  const user = await owner()
  if (user?.wallet === wallet) return user
  throw conflict(`The node belongs to the wallet ${user?.wallet}, not to ${wallet}.`)
}
