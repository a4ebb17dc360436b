const dayMs = 24 * 60 * 60 * 1000

/** Returns the day of a time in UTC, as `2026-07-31`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

/** Returns the last days up to the day of a time, the earliest first. */
export function daysUpTo(time: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(time - (count - 1 - index) * dayMs))
}

/** Returns the milliseconds from a time to the end of its day. */
export function untilNextDay(time: number): number {
  return dayMs - (time % dayMs)
}

/** Returns the milliseconds from a time to the end of its day, plus a number of days. */
export function untilDaysAfter(time: number, days: number): number {
  return untilNextDay(time) + days * dayMs
}
