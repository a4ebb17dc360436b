import type { SessionRecord } from './session-table.ts'

const dayMs = 24 * 60 * 60 * 1000

/**
 * Returns the time when a session ends if it is not used again, in milliseconds since 1970; `Infinity` if it does not end by
 * itself. The record of an ended session may stay for a while.
 *
 * @param idleDays days without use after which a session ends; an API token may stay unused
 */
export function endOf({ kind, expiresAt, lastUsedAt }: SessionRecord, idleDays: number): number {
  const expiry = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  return kind === 'api-token' ? expiry : Math.min(expiry, lastUsedAt.getTime() + idleDays * dayMs)
}

/** Tells whether a session can still be used. */
export function isLive(record: SessionRecord, idleDays: number, now: number): boolean {
  return endOf(record, idleDays) > now
}
