import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import type { SessionRecord } from './session-table.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Days without use after which a session or an API token ends, by its kind. */
export type IdleDays = Readonly<Record<SessionRecord['kind'], number>>

/** Returns the limits that the section `session` of the configuration sets. */
export function idleDaysOf(settings: KernelConfiguration['session']): IdleDays {
  return { session: settings.idleDays, 'api-token': settings.tokenIdleDays }
}

/**
 * Returns the time when a session or an API token ends if it is not used again, in milliseconds since 1970. The record of an ended
 * one may stay for a while.
 */
export function endOf({ kind, expiresAt, lastUsedAt }: SessionRecord, idleDays: IdleDays): number {
  const expiry = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  return Math.min(expiry, lastUsedAt.getTime() + idleDays[kind] * dayMs)
}

/** Tells whether a session can still be used. */
export function isLive(record: SessionRecord, idleDays: IdleDays, now: number): boolean {
  return endOf(record, idleDays) > now
}

/** Returns the times before which those have ended that were not used since. */
export function unusedSince(idleDays: IdleDays, now: Date): Readonly<Record<SessionRecord['kind'], Date>> {
  const before = (days: number) => new Date(now.getTime() - days * dayMs)
  return { session: before(idleDays.session), 'api-token': before(idleDays['api-token']) }
}
