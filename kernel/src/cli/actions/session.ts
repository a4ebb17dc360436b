import { NodekeepError, parseWallet } from '@nodekeep/plugin-sdk'
import type { UserAccount } from '../../users/user-accounts.ts'
import type { SessionOptions } from '../commands/session.ts'
import { type IdentityAccess, withIdentity } from '../identity-access.ts'

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
