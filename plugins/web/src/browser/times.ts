import * as texts from './texts.ts'

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Writes a time, from ISO 8601, with its date and time of day. */
export function dateText(time: string): string {
  return dates.format(new Date(time))
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Writes a length of time in its two largest units, such as `2 hours 5 minutes`. */
export function durationText(seconds: number): string {
  const largest = units.findIndex(([, length]) => seconds >= length)
  const shown = largest === -1 ? units.slice(-1) : units.slice(largest, largest + 2)
  let rest = seconds
  const words = shown.map(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return [
      count,
      new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
    ]
  })
  return words
    .filter(([count], i) => count !== 0 || i === 0)
    .map(([, text]) => text)
    .join(' ')
}

const timesOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const daysOfYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** Writes a time, from ISO 8601, as short as a person tells it: `today 09:12`, `yesterday`, `Nov 12`, `Nov 12, 2024`. */
export function shortDateText(time: string): string {
  const date = new Date(time)
  const now = new Date()
  const passed = Math.round((startOfDay(now) - startOfDay(date)) / 86_400_000)
  if (passed === 0) return texts.today(timesOfDay.format(date))
  if (passed === 1) return texts.yesterday
  return (date.getFullYear() === now.getFullYear() ? daysOfYear : days).format(date)
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}
