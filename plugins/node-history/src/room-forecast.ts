import { dayMs, type Period } from './periods.ts'

/** The days that a forecast looks back. */
export const forecastDays = 30
/** With fewer days between the first and the last one, nothing is foretold: one film would decide. */
const leastDays = 5
/** A forecast beyond a year tells nothing. */
const mostDays = 365

/**
 * Returns in how many days the disk is full if it goes on filling as it did on these days; `null` if it does not fill, if that
 * takes more than a year, or if too few days are known.
 *
 * @param days the oldest one first
 */
export function fullInDays(days: readonly Period[]): number | null {
  const known = days.filter((day): day is Period & { free: number } => day.free !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return null
  if (known.some((day) => isOtherDisk(day, last))) return null
  const span = (last.begins - first.begins) / dayMs
  const lost = first.free - last.free
  if (span < leastDays || lost <= 0) return null
  const left = (last.free / lost) * span
  return left > mostDays ? null : Math.floor(left)
}

/** Some file systems tell a size that changes a little with what is stored. */
function isOtherDisk(one: Period, other: Period): boolean {
  return Math.abs((one.total ?? 0) - (other.total ?? 0)) > (other.total ?? 0) / 100
}
