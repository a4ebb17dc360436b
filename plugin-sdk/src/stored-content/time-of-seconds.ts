/** The latest second that a date can have (ECMA-262, "Time Values and Time Range"). */
const latestSecond = 8.64e12

/**
 * Parses the time of a file as clients send it with its content, in seconds since 1970 with at most 9 decimals: `x-oc-mtime` of ownCloud and
 * Nextcloud, and `mtime` in the metadata of tus. Returns `null` for another text. Parts of a millisecond are cut.
 *
 * @example timeOfSeconds('981173106.5')?.toISOString() // '2001-02-03T04:05:06.500Z'
 */
export function timeOfSeconds(text: string): Date | null {
  const seconds = /^-?\d{1,13}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  // Fractions of a second are inexact numbers, so the product is rounded before it is cut.
  return Math.abs(seconds) <= latestSecond ? new Date(Math.floor(Number((seconds * 1000).toFixed(3)))) : null
}
