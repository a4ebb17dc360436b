import type { ServerCertificate } from '@nodekeep/plugin-sdk/server-tls'

export const hourMs = 60 * 60_000
const dayMs = 24 * hourMs

/** The longest pause after failures, in milliseconds. */
export const longestPauseMs = 12 * hourMs

/** The longest pause that an authority may ask for, in milliseconds. */
export const longestRetryAfterMs = 7 * dayMs

/**
 * Returns when a certificate is to be renewed, in milliseconds since 1970: the given number of days before its end, or after two
 * thirds of its time if that is later. It is up to a tenth of the rest earlier, always by the same amount for one certificate,
 * so that not all nodes renew at the same time.
 */
export function renewalTime(
  { validFrom, validTo, fingerprint }: ServerCertificate,
  renewBeforeDays: number,
): number {
  const restMs = Math.min(renewBeforeDays * dayMs, (validTo - validFrom) / 3)
  const share = Number.parseInt(fingerprint.slice(0, 2), 16) / 0x100
  return validTo - restMs * (1 + share / 10)
}

/**
 * Returns the pause after failures in a row, in milliseconds. It doubles with each failure, and varies by a fifth.
 *
 * @param failures at least 1
 * @param firstMs the pause after the first failure
 */
export function pauseAfter(failures: number, firstMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestPauseMs) * (0.8 + Math.random() * 0.4)
}
