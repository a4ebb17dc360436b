const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** A clock that goes further than this in one direction, while the node runs or not, may be wrong. Milliseconds. */
const jumpMs = 48 * hourMs

/**
 * Running time that passes before anything is purged by a clock that has jumped, for each day of the jump: so long, people or the system can
 * correct it. A node that runs for half an hour a week waits no longer than it runs. Milliseconds.
 */
const waitMsPerDay = 4 * 60 * 1000

/** The longest such time, for a jump of about a year. Milliseconds. */
const longestWaitMs = 24 * hourMs

/** The clock as the purge knows it, also over restarts. */
export interface PurgeClock {
  /** The time by the clock, in milliseconds since 1970. */
  readonly at: number
  /** Running time that must pass before anything is purged. Milliseconds. */
  readonly waitMs: number
}

/**
 * The clock as it is now.
 *
 * @param before how it was at the last look; undefined before the first one
 * @param now the time by the clock, in milliseconds since 1970
 * @param ranMs the time for which the node ran since then, in milliseconds; 0 right after a start
 */
export function clockAfter(before: PurgeClock | undefined, now: number, ranMs: number): PurgeClock {
  if (before === undefined) return { at: now, waitMs: 0 }
  const jumpedMs = Math.abs(now - before.at - ranMs)
  const waitMs = jumpedMs > jumpMs ? Math.min((jumpedMs / dayMs) * waitMsPerDay, longestWaitMs) : 0
  return { at: now, waitMs: Math.max(waitMs, before.waitMs - ranMs) }
}
