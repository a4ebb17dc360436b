let last = 0

/**
 * The time of modification for a file that was just written, in seconds since 1970: now, but no time twice.
 *
 * The system's own clock for this ticks every few milliseconds, in which an inode can be given back and used again
 * for other content of the same size; then two revisions would be equal.
 */
export function nextTime(): number {
  const now = Date.now() * 1000
  // Where the clock was set back by more than a second, its times are new again.
  last = now > last || last - now > 1_000_000 ? now : last + 1
  return last / 1_000_000
}
