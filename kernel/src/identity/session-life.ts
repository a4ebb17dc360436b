import type { SessionRecord, SessionStore } from '@nodekeep/plugin-sdk'

/**
 * Tells whether a session can still be used. Its record may stay for a while when it cannot.
 *
 * @param idleMs milliseconds without use after which a session is over; API tokens may lie idle
 */
export function isLive({ kind, expiresAt, lastUsedAt }: SessionRecord, idleMs: number, now: number): boolean {
  if (expiresAt !== null && expiresAt.getTime() <= now) return false
  return kind === 'api-token' || lastUsedAt.getTime() + idleMs > now
}

/** The sessions and API tokens of a user that can still be used, newest first. */
export type LiveSessions = (userUuid: string) => Promise<SessionRecord[]>

/** @param idleMs as for {@link isLive} */
export function createLiveSessions(sessions: SessionStore, idleMs: number): LiveSessions {
  return async (userUuid) => {
    const now = Date.now()
    return (await sessions.listByUser(userUuid)).filter((record) => isLive(record, idleMs, now))
  }
}
