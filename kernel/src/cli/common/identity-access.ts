import { NodekeepError, type SessionStore } from '@nodekeep/plugin-sdk'
import { Admission } from '../../identity/admission.ts'
import { Authenticator } from '../../identity/authenticator.ts'
import { type IssuedToken, issueSession, type SessionWish } from '../../identity/issue-session.ts'
import { Ownership } from '../../identity/ownership.ts'
import { createLiveSessions, type LiveSessions } from '../../identity/session-life.ts'
import { createSessionTable } from '../../identity/session-table.ts'
import { UserAccounts } from '../../identity/user-accounts.ts'
import { UserAdministration } from '../../identity/user-administration.ts'
import type { UserAccount } from '../../identity/user-table.ts'
import { createLogger } from '../../log/logger.ts'
import { createEventBus } from '../../services/event-bus.ts'
import { openStateDatabase } from '../../state/database.ts'
import { holdsState } from '../../state/stored-state.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Users and sessions of a node, for a person who has write access to its data folder. */
export interface IdentityAccess {
  readonly accounts: UserAccounts
  readonly sessions: SessionStore
  readonly liveSessions: LiveSessions
  issueSession(wish: SessionWish): Promise<IssuedToken>
  readonly administration: UserAdministration
  readonly expiryDays: number
  /** `auth.owner` as it is written. */
  readonly configuredOwner: string | undefined
  /** Returns the owner, after `auth.owner` was applied; `null` when the node is unclaimed. */
  owner(): Promise<UserAccount | null>
  /** Finds a user by username, uuid or wallet. Without a name it returns the owner. */
  find(name: string | undefined): Promise<UserAccount>
  /** @throws NodekeepError CONFLICT when the node would refuse a token of the user */
  refuseLockedOut(user: UserAccount): void
}

/**
 * Opens users and sessions, also beside a running node: single statements need no lock on the data folder. A running node
 * notices changes within 5 seconds.
 *
 * @throws NodekeepError NOT_FOUND when the folder has no data, so that a mistyped folder is not created
 */
export async function withIdentity<T>(
  options: ConfigurationOptions,
  work: (identity: IdentityAccess) => Promise<T>,
): Promise<T> {
  const { kernel } = await readConfiguration(options)
  if (!holdsState(kernel.data)) {
    throw new NodekeepError(
      'NOT_FOUND',
      `${kernel.data} contains no data of a node. Start the node once, or name its folder with --data.`,
    )
  }
  const database = await openStateDatabase(kernel.data)
  try {
    const accounts = new UserAccounts(database)
    const sessions = createSessionTable(database)
    const admission = new Admission(kernel.auth)
    const idleMs = kernel.session.idleDays * dayMs
    const authenticator = new Authenticator(sessions, accounts, admission, { idleMs })
    const events = createEventBus().scope(createLogger({ level: 'silent' }))
    const { deletionGraceDays, owner: configuredOwner } = kernel.auth
    const owner = async () => {
      const ownership = await Ownership.establish(database, accounts, configuredOwner)
      if (ownership.change !== null) process.stderr.write(`${ownership.change}\n`)
      await ownership.welcomeConfiguredOwner()
      return accounts.owner()
    }
    return await work({
      accounts,
      sessions,
      liveSessions: createLiveSessions(sessions, idleMs),
      issueSession: (wish) => database.transaction((sql) => issueSession(sql, wish)),
      administration: new UserAdministration({
        database,
        accounts,
        sessions,
        authenticator,
        events,
        deletionGraceDays,
      }),
      expiryDays: kernel.session.expiryDays,
      configuredOwner,
      owner,
      find: async (name) => (name === undefined ? existing(await owner()) : findUser(accounts, name)),
      refuseLockedOut: (user) => refuseLockedOut(user, admission),
    })
  } finally {
    await database.close()
  }
}

function existing(owner: UserAccount | null): UserAccount {
  if (owner !== null) return owner
  throw new NodekeepError(
    'NOT_FOUND',
    'The node has no owner yet. Give your wallet address with --wallet, set "auth.owner", or sign in with the claim code.',
  )
}

function refuseLockedOut(user: UserAccount, admission: Admission): void {
  if (user.disabledAt !== null) {
    const remedy = `"nodekeep user enable ${user.username}" admits the user again.`
    throw new NodekeepError('CONFLICT', `The user ${user.username} is disabled. ${remedy}`)
  }
  if (admission.admits(user)) return
  throw new NodekeepError(
    'CONFLICT',
    `The wallet ${user.wallet} may not sign in: "auth.admission" of the configuration does not admit it.`,
  )
}

async function findUser(accounts: UserAccounts, name: string): Promise<UserAccount> {
  const user =
    (await accounts.findByUsername(name)) ?? (await accounts.get(name)) ?? (await accounts.findByWallet(name))
  if (user !== null) return user
  throw new NodekeepError('NOT_FOUND', `There is no user "${name}". "nodekeep user list" shows all users.`)
}
