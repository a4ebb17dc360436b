/**
 * Returns a stored time for a comparison with the present: the time itself, or `now` if it lies in the future. Use it wherever
 * something is planned, retained, expired or shown by the time at which something happened.
 *
 * Nothing has happened after now. Such a time was stored while the clock was wrong, and trusted as it is, it would hold up what
 * comes after it until that day. An `Invalid Date` counts as `now` too.
 */
export function notAfterNow(time: Date, now: Date = new Date()): Date {
  return time <= now ? time : now
}
