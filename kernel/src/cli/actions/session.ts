import { NodekeepError, parseWallet } from '@nodekeep/plugin-sdk'
import type { UserAccount } from '../../users/user-accounts.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { type IdentityAccess, withIdentity } from '../common/identity-access.ts'

/** The options of `nodekeep session create`. */
export interface SessionOptions extends ConfigurationOptions {
  readonly user?: string
  readonly wallet?: string
  readonly days?: number
}

/** `nodekeep session create` */
export async function createSession(options: SessionOptions): Promise<void> {
  await withIdentity(options, async (identity) => {
    const { expiryDays } = identity
    const user =
      options.wallet === undefined
        ? await identity.find(options.user)
        : await claim(identity, checked(options.wallet))
    identity.refuseLockedOut(user)
    const { token } = await identity.issueSession({
      userUuid: user.uuid,
      label: 'nodekeep session create',
      expiryDays: options.days ?? expiryDays,
    })
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
  throw new NodekeepError('CONFLICT', `The node belongs to the wallet ${user?.wallet}, not to ${wallet}.`)
}

function checked(address: string): string {
  const wallet = parseWallet(address)
  if (wallet !== null) return wallet
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `"${address}" is not a wallet address. Write 0x and 40 hexadecimal digits (EIP-55).`,
  )
}
