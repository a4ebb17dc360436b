/**
 * Returns a stored moment for a comparison with the present: the moment itself, or `now` if it lies in the future. Use it wherever
 * something is planned, kept, expired or shown by a moment at which something happened.
 *
 * Nothing has happened after now. Such a moment was stored while the clock was wrong, and trusted as it is, it would hold up what
 * comes after it until that day. An `Invalid Date` counts as `now` too.
 */
export function notAfterNow(moment: Date, now: Date = new Date()): Date {
  return moment <= now ? moment : now
}
