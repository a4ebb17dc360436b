import { NodekeepError, type SessionStore } from '@nodekeep/plugin-sdk'
import { Admission } from '../identity/admission.ts'
import { Authenticator } from '../identity/authenticator.ts'
import { Ownership } from '../identity/ownership.ts'
import { createSessionTable } from '../identity/session-table.ts'
import { type UserAccount, UserAccounts } from '../identity/user-accounts.ts'
import { UserAdministration } from '../identity/user-administration.ts'
import { createLogger } from '../log/logger.ts'
import { createEventBus } from '../services/event-bus.ts'
import { openStateDatabase } from '../state/database.ts'
import { type ConfigurationOptions, readConfiguration } from './configuration-options.ts'

/** Users and sessions of a node, for a person who may write its data folder. */
export interface IdentityAccess {
  readonly accounts: UserAccounts
  readonly sessions: SessionStore
  readonly administration: UserAdministration
  readonly expiryDays: number
  /** Finds by username, uuid or wallet; the owner when nothing is given. */
  find(name: string | undefined): Promise<UserAccount>
  /** Makes a wallet's user the owner of a node that has none. */
  claim(wallet: string): Promise<UserAccount>
}

/**
 * Opens users and sessions beside a node that may be running: it takes no lock, since single statements don't
 * disturb. A running node notices within some seconds.
 */
export async function withIdentity<T>(
  options: ConfigurationOptions,
  work: (identity: IdentityAccess) => Promise<T>,
): Promise<T> {
  const { kernel } = await readConfiguration(options)
  const database = await openStateDatabase(kernel.data)
  try {
    const accounts = new UserAccounts(database)
    const sessions = createSessionTable(database)
    const authenticator = new Authenticator(sessions, accounts, new Admission(kernel.auth), { idleMs: 0 })
    const events = createEventBus().scope(createLogger({ level: 'silent' }))
    const { deletionGraceDays, owner } = kernel.auth
    const ownership = await Ownership.establish(database, accounts, owner)
    await ownership.welcomeConfiguredOwner()
    return await work({
      accounts,
      sessions,
      administration: new UserAdministration({
        database,
        accounts,
        sessions,
        authenticator,
        events,
        deletionGraceDays,
      }),
      expiryDays: kernel.session.expiryDays,
      find: (name) => (name === undefined ? ownerOf(accounts) : findUser(accounts, name)),
      claim: (wallet) => ownership.claim(wallet),
    })
  } finally {
    await database.close()
  }
}

async function ownerOf(accounts: UserAccounts): Promise<UserAccount> {
  const owner = await accounts.owner()
  if (owner !== null) return owner
  throw new NodekeepError(
    'NOT_FOUND',
    'The node has no owner yet. Give your wallet address with --wallet, set "auth.owner", or sign in with the claim code.',
  )
}

async function findUser(accounts: UserAccounts, name: string): Promise<UserAccount> {
  const user =
    (await accounts.findByUsername(name)) ?? (await accounts.get(name)) ?? (await accounts.findByWallet(name))
  if (user !== null) return user
  throw new NodekeepError('NOT_FOUND', `There is no user "${name}". "nodekeep user list" shows them.`)
}
