/** The measurements of a while. What is about a moment, such as free bytes, is that of its end. */
export interface Period {
  /** Its beginning in UTC, in milliseconds since 1970. */
  readonly begins: number
  /** Bytes that are free on the disk with the data folder; `null` where the file system cannot tell it. */
  readonly free: number | null
  /** Bytes of that disk. */
  readonly total: number | null
  /** Bytes of the files of all users; `null` without files. */
  readonly files: number | null
  /** The processor time that the machine had, in milliseconds of all processors together. */
  readonly processorMs: number
  /** The part of it that was used. */
  readonly busyMs: number
  /** Requests to the node. */
  readonly requests: number
}

/** The measurements of a few minutes. */
export type Measurement = Omit<Period, 'begins'>

/** All periods that are kept. What is in an hour is in no day, so nothing is recorded twice. */
export interface Periods {
  readonly hours: readonly Period[]
  readonly days: readonly Period[]
}

const hourMs = 60 * 60_000
/** The length of a day, in milliseconds. */
export const dayMs = 24 * hourMs

/** Hours that are kept: 14 days. */
export const maxHours = 14 * 24
/** Days that are kept, before those hours. */
export const maxDays = 400

/**
 * Adds a measurement to the hour of a time. Beyond {@link maxHours}, the hour that came first becomes part of its day. Periods go by
 * their number and not by their age, so a clock that jumps costs one period for each jump, and never those of the right time.
 */
export function withMeasurement({ hours, days }: Periods, measured: Measurement, at: number): Periods {
  const added = addTo(hours, { ...measured, begins: beginOf(at, hourMs) })
  const [first] = added
  if (first === undefined || added.length <= maxHours) return { hours: added, days }
  const begins = beginOf(first.begins, dayMs)
  return { hours: added.slice(1), days: addTo(days, { ...first, begins }).slice(-maxDays) }
}

/** Returns the hours before a time, the oldest one first. Those after it were measured while the clock was ahead. */
export function hoursBefore({ hours }: Periods, at: number, count: number): Period[] {
  return sorted(hours, at, at - count * hourMs)
}

/** Returns the days before a time in UTC, the oldest one first, and that of the time itself. */
export function daysBefore({ hours, days }: Periods, at: number, count: number): Period[] {
  const all = sorted(hours, at, Number.NEGATIVE_INFINITY).reduce(
    (sum: readonly Period[], hour) => addTo(sum, { ...hour, begins: beginOf(hour.begins, dayMs) }),
    days,
  )
  return sorted(all, at, at - count * dayMs)
}

function sorted(periods: readonly Period[], at: number, after: number): Period[] {
  return periods
    .filter(({ begins }) => begins > after && begins <= at)
    .toSorted((one, other) => one.begins - other.begins)
}

function beginOf(at: number, lengthMs: number): number {
  return Math.floor(at / lengthMs) * lengthMs
}

/** Adds a period to the one with the same beginning, if there is one. */
function addTo(periods: readonly Period[], later: Period): Period[] {
  const same = periods.find(({ begins }) => begins === later.begins)
  if (same === undefined) return [...periods, later]
  const sum = {
    ...later,
    free: later.free ?? same.free,
    total: later.total ?? same.total,
    files: later.files ?? same.files,
    processorMs: same.processorMs + later.processorMs,
    busyMs: same.busyMs + later.busyMs,
    requests: same.requests + later.requests,
  }
  return periods.map((period) => (period === same ? sum : period))
}
