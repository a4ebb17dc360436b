const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** Versions of a file that are kept, beside those before a change of hand. */
export const mostVersions = 50

/** A former content of a file, as far as its thinning depends on it. */
export interface DatedVersion {
  readonly number: number
  /** When it was replaced. Milliseconds since 1970. */
  readonly at: number
  /** Whether somebody else replaced it than replaced the version before. */
  readonly isHandover: boolean
}

/**
 * The versions of a file that have to go: those that were replaced too long ago, and of the rest all but the last one of each hour, of each
 * day after a day, and the newest 50. What was there before a change of hand stays for the whole time.
 *
 * Hours and days are those of the calendar, so a version that is the last one of its hour stays it.
 *
 * @param versions all of the file, the newest first
 * @param keepMs how long versions are kept, in milliseconds
 * @returns the numbers of the versions
 */
export function thinned(versions: readonly DatedVersion[], now: number, keepMs: number): number[] {
  const gone: number[] = []
  const periods = new Set<string>()
  let kept = 0
  for (const { number, at, isHandover } of versions) {
    const age = now - at
    const period = periodOf(at, age)
    const isLast = period === null || !periods.has(period)
    if (age >= keepMs || (!isHandover && (!isLast || kept >= mostVersions))) {
      gone.push(number)
      continue
    }
    kept += 1
    if (period !== null) periods.add(period)
  }
  return gone
}

/** The period of which one version stays; null where all stay. */
function periodOf(at: number, age: number): string | null {
  if (age < hourMs) return null
  return age < dayMs ? `hour ${Math.floor(at / hourMs)}` : `day ${Math.floor(at / dayMs)}`
}
