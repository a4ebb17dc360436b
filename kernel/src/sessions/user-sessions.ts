import { type EventBus, NodekeepError, SessionsEnded } from '@nodekeep/plugin-sdk'
import { type IdleDays, isLive } from './session-life.ts'
import type { SessionRecord, SessionTable } from './session-table.ts'

/** The part of the authenticator that remembers users. It must forget a user whenever their rights change. */
export interface UserCache {
  forget(userUuid: string): void
}

interface UserSessionsServices {
  readonly sessions: SessionTable
  readonly idleDays: IdleDays
  readonly authenticator: UserCache
  readonly events: EventBus
}

/** The sessions and API tokens of users: lists those that can be used, and ends them. An end takes effect at once. */
export class UserSessions {
  readonly #services: UserSessionsServices

  constructor(services: UserSessionsServices) {
    this.#services = services
  }

  /** Days without use after which they end. */
  get idleDays(): IdleDays {
    return this.#services.idleDays
  }

  /**
   * Lists the sessions and API tokens of a user that can still be used, newest first.
   *
   * @param kind the kind of those to list; all kinds when not given
   */
  async live(userUuid: string, kind?: SessionRecord['kind']): Promise<SessionRecord[]> {
    const { sessions, idleDays } = this.#services
    const now = Date.now()
    const records = await sessions.listByUser(userUuid)
    return records.filter(
      (record) => (kind === undefined || record.kind === kind) && isLive(record, idleDays, now),
    )
  }

  /**
   * Ends one session or API token of a user.
   *
   * @param kind the kind that it must have; any kind when not given
   * @throws NodekeepError NOT_FOUND when the user has none with that id and kind
   */
  async end(userUuid: string, id: string, kind?: SessionRecord['kind']): Promise<void> {
    if (await this.endIfPresent(userUuid, id, kind)) return
    throw new NodekeepError('NOT_FOUND', `There is no ${kindName(kind)} with that id.`)
  }

  /**
   * Ends one session or API token if it has not ended yet. The authenticator forgets the user in both
   * cases, since another process may have ended it.
   *
   * @param kind the kind that it must have; any kind when not given
   * @returns whether it was there
   */
  async endIfPresent(userUuid: string, id: string, kind?: SessionRecord['kind']): Promise<boolean> {
    const ended = await this.#services.sessions.revoke(userUuid, id, kind)
    this.announceEnd(userUuid)
    return ended
  }

  /** Ends all sessions and API tokens of a user. */
  async endAll(userUuid: string): Promise<void> {
    await this.#services.sessions.revokeAll(userUuid)
    this.announceEnd(userUuid)
  }

  /** Tells the authenticator and the plugins that sessions of a user have ended. */
  announceEnd(userUuid: string): void {
    this.#services.authenticator.forget(userUuid)
    this.#services.events.emit(SessionsEnded, { userUuid })
  }
}

/** Names a kind of records for people. */
export function kindName(kind?: SessionRecord['kind']): string {
  if (kind === undefined) return 'session or API token'
  return kind === 'session' ? 'session' : 'API token'
}
