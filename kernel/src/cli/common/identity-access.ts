import { conflict, NodekeepError } from '@nodekeep/plugin-sdk'
import { Admission } from '../../access/admission.ts'
import { Authenticator } from '../../access/authenticator.ts'
import { isRestorePlanned } from '../../backup/restores.ts'
import { openState } from '../../composition/open-state.ts'
import type { KernelConfiguration } from '../../configuration/kernel-schema.ts'
import { readPast } from '../../health/node-clock.ts'
import { createLogger } from '../../log/logger.ts'
import { KernelEventBus } from '../../services/event-bus.ts'
import { type IssuedSession, issueSession, type NewSession } from '../../sessions/issue-session.ts'
import { readKnownScopes } from '../../sessions/known-scopes.ts'
import { idleDaysOf } from '../../sessions/session-life.ts'
import { SessionTable } from '../../sessions/session-table.ts'
import { UserSessions } from '../../sessions/user-sessions.ts'
import { Ownership } from '../../sign-in/ownership.ts'
import type { StateDatabase } from '../../state/database.ts'
import { holdsState, withStoredState } from '../../state/stored-state.ts'
import { type UserAccount, UserAccounts } from '../../users/user-accounts.ts'
import { UserAdministration } from '../../users/user-administration.ts'
import type { CommandProcess } from './command-process.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'

/** Users and sessions of a node, for a person who has write access to its data folder. */
export type IdentityAccess = ReturnType<typeof accessTo>

/**
 * Opens users and sessions, also beside a running node: single statements need no lock on the data folder. A running node
 * notices changes within 5 seconds.
 *
 * @param access.beforeRestore also while a restore waits for the next start, which replaces all users and sessions
 * @throws NodekeepError NOT_FOUND when the folder has no data, so that a mistyped folder is not created
 */
export async function withIdentity<T>(
  options: ConfigurationOptions,
  process: CommandProcess,
  work: (identity: IdentityAccess) => Promise<T>,
  { beforeRestore = false }: { readonly beforeRestore?: boolean } = {},
): Promise<T> {
  const configuration = await readConfiguration(options, process)
  const { kernel } = configuration
  if (!holdsState(kernel.data)) {
    throw new NodekeepError(
      'NOT_FOUND',
      `${kernel.data} contains no data of a node. Start the node once, or name its folder with --data.`,
    )
  }
  if (!beforeRestore && isRestorePlanned(kernel.data)) {
    throw conflict(
      'A restore waits for the next start of the node. Start the node first: the restore replaces its users.',
    )
  }
  const database = await openState(configuration)
  try {
    return await work(accessTo(kernel, database, process))
  } finally {
    await database.close()
  }
}

function accessTo(
  { data, auth, session }: KernelConfiguration,
  database: StateDatabase,
  process: CommandProcess,
) {
  const { expiryDays } = session
  const idleDays = idleDaysOf(session)
  const accounts = new UserAccounts(database)
  const sessions = new SessionTable(database)
  const admission = new Admission(auth)
  const authenticator = new Authenticator(sessions, accounts, admission, { idleDays })
  const events = new KernelEventBus().scope(createLogger({ level: 'silent' }))
  const { deletionGraceDays, owner: configuredOwner } = auth
  const userSessions = new UserSessions({ sessions, idleDays, authenticator, events })
  /** Returns the owner, after `auth.owner` was applied; `null` when the node is unclaimed. */
  const owner = async () => {
    const ownership = await Ownership.establish(database, accounts, configuredOwner)
    if (ownership.change !== null) process.stderr.write(`${ownership.change}\n`)
    await ownership.ensureConfiguredOwner()
    return accounts.owner()
  }
  return {
    accounts,
    sessions,
    userSessions,
    issueSession: (session: NewSession): Promise<IssuedSession> =>
      database.transaction((sql) => issueSession(sql, session)),
    administration: new UserAdministration({
      database,
      userSessions,
      authenticator,
      deletionGraceDays,
      past: () => withStoredState(data, '@kernel', readPast, new Date(0)),
    }),
    /** Returns the scopes that the node knew when it ran last. */
    async knownScopes(): Promise<readonly string[]> {
      const scopes = await withStoredState(data, '@kernel', readKnownScopes, null)
      if (scopes !== null) return scopes
      throw conflict('The scopes of this node are not known yet. Start the node once.')
    },
    expiryDays,
    /** `auth.owner` as it is written. */
    configuredOwner,
    owner,
    /** Finds a user by username, uuid or wallet. Without a name it returns the owner. */
    async find(name: string | undefined): Promise<UserAccount> {
      const user = name === undefined ? await owner() : await findUser(accounts, name)
      if (user !== null) return user
      throw new NodekeepError(
        'NOT_FOUND',
        name === undefined
          ? 'The node has no owner yet. Run "nodekeep session create --wallet YOUR_WALLET_ADDRESS", set "auth.owner", or sign in with the claim code.'
          : `There is no user "${name}". "nodekeep user list" shows all users.`,
      )
    },
    /** @throws NodekeepError CONFLICT when the node would refuse a token of the user */
    refuseLockedOut(user: UserAccount): void {
      if (user.disabledAt !== null) {
        const remedy = `"nodekeep user enable ${user.username}" admits the user again.`
        throw conflict(`The user ${user.username} is disabled. ${remedy}`)
      }
      if (admission.admits(user)) return
      throw conflict(
        `The wallet ${user.wallet} may not sign in: "auth.admission" of the configuration does not admit it. "nodekeep user add ${user.wallet}" does.`,
      )
    },
  }
}

async function findUser(accounts: UserAccounts, name: string): Promise<UserAccount | null> {
  return (
    (await accounts.findByUsername(name)) ?? (await accounts.get(name)) ?? (await accounts.findByWallet(name))
  )
}
