import * as texts from '../../texts.ts'

const months = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })

/** Returns the group of a time, from ISO 8601, in words: today, yesterday, the last days, and months before. */
export function dateGroup(time: string, now = new Date()): string {
  const date = new Date(time)
  const { today, yesterday, lastDays } = texts.chat.dates
  // The clock of the node may be ahead of that of the device.
  if (date >= dayBefore(now, 0)) return today
  if (date >= dayBefore(now, 1)) return yesterday
  for (const days of [7, 30]) if (date >= dayBefore(now, days)) return lastDays(days)
  return months.format(date)
}

/** Returns the beginning of the day that is a number of days before now. */
function dayBefore(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - days)
}
