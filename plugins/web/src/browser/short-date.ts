const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const dayOfYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const wholeDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** Writes a time, from ISO 8601, as briefly as people say it: `today, 09:12`, `Nov 12`, `Nov 12, 2025`. */
export function shortDate(time: string): string {
  const date = new Date(time)
  const now = new Date()
  const days = Math.round((startOfDay(date) - startOfDay(now)) / 86_400_000)
  if (Math.abs(days) <= 1) return `${relative.format(days, 'day')}, ${clock.format(date)}`
  return date.getFullYear() === now.getFullYear() ? dayOfYear.format(date) : wholeDay.format(date)
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}
