import type { SessionRecord } from '@nodekeep/plugin-sdk'

const dayMs = 24 * 60 * 60 * 1000

/**
 * Tells whether a session can still be used. The record of an ended session may stay for a while.
 *
 * @param idleDays days without use after which a session ends; an API token may stay unused
 */
export function isLive(
  { kind, expiresAt, lastUsedAt }: SessionRecord,
  idleDays: number,
  now: number,
): boolean {
  if (expiresAt !== null && expiresAt.getTime() <= now) return false
  return kind === 'api-token' || lastUsedAt.getTime() + idleDays * dayMs > now
}
