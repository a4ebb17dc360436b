const dayMs = 24 * 60 * 60 * 1000

let [latest, latestName] = [Number.NaN, '']

/** The day of UTC in which a moment is, as `2026-07-31`. Mostly it is that of the moment before. */
export function dayOf(time: number): string {
  const day = Math.floor(time / dayMs)
  if (day !== latest) [latest, latestName] = [day, new Date(time).toISOString().slice(0, 10)]
  return latestName
}

/** So many days up to that of a moment, the earliest first. */
export function daysUpTo(time: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(time - (count - 1 - index) * dayMs))
}

/** Milliseconds from a moment to the end of its day. */
export function untilNextDay(time: number): number {
  return dayMs - (time % dayMs)
}

/** Milliseconds from a moment until its day is so many days ago. */
export function untilDaysAfter(time: number, days: number): number {
  return untilNextDay(time) + days * dayMs
}
