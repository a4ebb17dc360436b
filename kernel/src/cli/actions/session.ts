import { NodekeepError } from '@nodekeep/plugin-sdk'
import { viewSession } from '../../sessions/session-view.ts'
import type { UserAccount } from '../../users/user-accounts.ts'
import { walletOf } from '../../users/user-administration.ts'
import type { CommandProcess } from '../common/command-process.ts'
import { type IdentityAccess, withIdentity } from '../common/identity-access.ts'
import { printJson, printTable } from '../common/print-lines.ts'
import type { UserOptions } from '../common/user-option.ts'

/** The options of `nodekeep session list`. */
export interface ListSessionsOptions extends UserOptions {
  readonly json?: boolean
}

/** The options of `nodekeep session create`. */
export interface CreateSessionOptions extends UserOptions {
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

/** `nodekeep session list` */
export async function listSessions(options: ListSessionsOptions, process: CommandProcess): Promise<void> {
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid } = await find(options.user)
    const sessions = (await userSessions.live(uuid)).filter(({ kind }) => kind === 'session')
    // No session belongs to the command line itself.
    const views = sessions.map((record) => viewSession(record, null))
    if (options.json === true) {
      printJson(
        views.map(({ current, ...view }) => view),
        process.stdout,
      )
      return
    }
    const rows = views.map(({ id, label, created, lastUsed, expires }) => ({
      id,
      program: label,
      created,
      'last used': lastUsed,
      expires: expires ?? 'never',
    }))
    printTable(rows, 'There are no sessions.', process.stdout)
  })
}

/** `nodekeep session revoke` */
export async function revokeSession(
  id: string,
  options: UserOptions,
  process: CommandProcess,
): Promise<void> {
  await withIdentity(options, process, async ({ userSessions, find }) => {
    const { uuid, username } = await find(options.user)
    if (!(await userSessions.endIfPresent(uuid, id, 'session'))) {
      throw new NodekeepError(
        'NOT_FOUND',
        `${username} has no session with the id "${id}". "nodekeep session list --user ${username}" shows the sessions.`,
      )
    }
    process.stdout.write('The session is revoked. A running node refuses it within 5 seconds.\n')
  })
}

/** Returns the owner with this wallet. A node without an owner is claimed for the wallet. */
async function claim({ accounts, owner }: IdentityAccess, wallet: string): Promise<UserAccount> {
  if ((await owner()) === null) await accounts.ensure(wallet, true)
  const user = await owner()
  if (user?.wallet === wallet) return user
  throw new NodekeepError('CONFLICT', `The node belongs to the wallet ${user?.wallet}, not to ${wallet}.`)
}
