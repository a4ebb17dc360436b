import {
  invalid,
  type LoginCredentials,
  type LoginProvider,
  NodekeepError,
  parseWallet,
  type VerifiedLogin,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import type { Admission } from '../access/admission.ts'
import { isRestorePlanned } from '../backup/restores.ts'
import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import type { RegistryEntries } from '../services/registry.ts'
import { issueSession } from '../sessions/issue-session.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import type { StateDatabase } from '../state/database.ts'
import type { Sql } from '../state/sql.ts'
import { ensureUser, findUser, type UserAccount } from '../users/user-accounts.ts'
import type { Ownership } from './ownership.ts'

/** A request to `POST /auth/:provider`. */
interface SignInRequest {
  readonly provider: string
  readonly credentials: LoginCredentials
  /** The claim code, if the client wants to claim the node. */
  readonly claim: string | null
  readonly origin: URL
  readonly signal: AbortSignal
  /** The name of the session in the user's list of sessions. */
  readonly label: string
}

interface SignedIn {
  readonly user: UserAccount
  readonly token: string
  /** Whether this sign-in gave the node its first owner. */
  readonly claimed: boolean
}

interface SignInServices {
  readonly providers: RegistryEntries<LoginProvider>
  readonly database: StateDatabase
  readonly ownership: Ownership
  readonly admission: Admission
  readonly userSessions: UserSessions
  readonly settings: Pick<KernelConfiguration, 'data' | 'auth' | 'session'>
}

/** Signs users in: a provider verifies the wallet, the node decides whether to admit it, and makes a session. */
export class SignIn {
  readonly #services: SignInServices

  constructor(services: SignInServices) {
    this.#services = services
  }

  /** @throws NodekeepError NOT_FOUND, VALIDATION_ERROR, UNAUTHORIZED, FORBIDDEN, or the error of an upstream server */
  async signIn(request: SignInRequest): Promise<SignedIn> {
    this.#refuseUnknown(request.provider)
    const wallet = parseWallet(request.credentials.address)
    if (wallet === null) {
      throw invalid('"address" must be 0x and 40 hexadecimal digits (EIP-55).')
    }
    const verified = await this.#verify(request)
    if (parseWallet(verified.address) !== wallet) {
      throw new NodekeepError(
        'UNAUTHORIZED',
        'The proof belongs to another wallet than the one in "address".',
      )
    }
    return this.#store(wallet, verified.uuid, request)
  }

  #refuseUnknown(name: string): void {
    const known = this.#services.providers.names()
    if (known.includes(name)) return
    const hint =
      known.length === 0 ? 'No login provider is active.' : `Active providers: ${known.join(', ')}.`
    throw new NodekeepError('NOT_FOUND', `There is no login provider "${name}". ${hint}`)
  }

  async #verify({
    provider: name,
    credentials,
    origin,
    signal: clientGone,
  }: SignInRequest): Promise<VerifiedLogin> {
    const late = new NodekeepError(
      'UPSTREAM_TIMEOUT',
      'The login provider did not answer in time. Try again.',
    )
    const { providers, settings } = this.#services
    const abort = new AbortController()
    const either = AbortSignal.any([clientGone, abort.signal])
    try {
      const work = providers.call(name, either, (provider, signal) =>
        provider.verify(credentials, { origin, signal }),
      )
      const verified: unknown = await withTimeLimit(work, settings.auth.signInTimeoutMs, late, clientGone)
      if (!isVerifiedLogin(verified)) throw new Error('The login provider returned no uuid and address.')
      return verified
    } finally {
      abort.abort()
    }
  }

  /**
   * Stores the user, their login and their session in one transaction. If the user is disabled or gets another wallet at
   * the same time, that change is either before the transaction, which then refuses, or after it, and ends this session.
   */
  async #store(wallet: string, providerUuid: string, request: SignInRequest): Promise<SignedIn> {
    const { database, ownership, userSessions, settings } = this.#services
    const { expiryDays } = settings.session
    const { provider, label, claim } = request
    // A refusal need not wait for other writers.
    await database.use((sql) => this.#check(sql, wallet, claim))
    const { user, token, ended, claimed } = await database.transaction((sql) => {
      const claims = !ownership.isClaimed(sql)
      const admitted = this.#admit(sql, wallet, claim)
      const login = { provider, providerUuid }
      const issued = issueSession(sql, { userUuid: admitted.uuid, label, expiryDays, login })
      return { ...issued, user: admitted, claimed: claims }
    })
    if (user.owner) ownership.claimed()
    if (ended > 0) userSessions.announceEnd(user.uuid)
    return { user, token, claimed }
  }

  #admit(sql: Sql, wallet: string, claim: string | null): UserAccount {
    const { known, owner } = this.#check(sql, wallet, claim)
    const user = known?.owner === owner ? known : ensureUser(sql, wallet, owner)
    // Another process may have made another user the owner.
    if (!this.#services.admission.admits(user)) throw notAdmitted()
    if (user.disabledAt !== null) throw isDisabled()
    return user
  }

  /** Checks whether the wallet is admitted and whether it is the owner's. It only reads. */
  #check(sql: Sql, wallet: string, claim: string | null): { known: UserAccount | null; owner: boolean } {
    const { admission, ownership, settings } = this.#services
    const known = findUser(sql, 'wallet', wallet)
    if (!ownership.isClaimed(sql)) {
      if (claim === null) {
        throw new NodekeepError(
          'FORBIDDEN',
          'This node has no owner yet. Sign in with the claim code that it printed, as "claim".',
        )
      }
      if (!ownership.mayClaim(claim)) throw new NodekeepError('FORBIDDEN', 'The claim code is wrong.')
      if (isRestorePlanned(settings.data))
        throw new NodekeepError(
          'CONFLICT',
          'The next start of this node restores a backup, and its owner. Restart the node, or take the restore back: nodekeep backup restore --cancel',
        )
      return { known, owner: true }
    }
    const owner = known?.owner === true || ownership.isConfiguredOwner(wallet)
    if (!admission.admits({ owner, wallet, addedAt: known?.addedAt ?? null })) throw notAdmitted()
    // A user who becomes the owner is no longer disabled.
    if (known !== null && known.owner === owner && known.disabledAt !== null) throw isDisabled()
    return { known, owner }
  }
}

/** Checks the result of a provider at run time: providers are plugins, and their types prove nothing. */
function isVerifiedLogin(value: unknown): value is VerifiedLogin {
  if (typeof value !== 'object' || value === null) return false
  const { uuid, address } = value as Partial<Record<keyof VerifiedLogin, unknown>>
  return typeof uuid === 'string' && uuid !== '' && typeof address === 'string'
}

function notAdmitted(): NodekeepError {
  return new NodekeepError('FORBIDDEN', 'This wallet may not sign in here. Ask the owner of the node.')
}

function isDisabled(): NodekeepError {
  return new NodekeepError('FORBIDDEN', 'This user is disabled. Ask the owner of the node.')
}
