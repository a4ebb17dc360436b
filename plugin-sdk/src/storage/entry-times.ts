import type { StorageListEntry } from '../contracts/storage.ts'

/** The times that RFC 3339 can write: those of the years 0 to 9999. In milliseconds since 1970. */
const earliest = Date.parse('0000-01-01T00:00:00.000Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/** The time of an entry whose own time is invalid. */
const unknown = 0

/** Returns whether every format for times, such as RFC 3339, can carry a time. */
export function isWritable(time: Date): boolean {
  const ms = time.getTime()
  return ms >= earliest && ms <= latest
}

/**
 * Returns the entry with times that can be written. Disks keep times beyond the range of `Date`, and a driver may return an
 * invalid date. Such a time becomes the start of 1970.
 */
export function withWritableTimes<Entry extends StorageListEntry>(entry: Entry): Entry {
  const { modified, created } = entry
  if (isWritable(modified) && (created === undefined || isWritable(created))) return entry
  const writable = (time: Date) => (isWritable(time) ? time : new Date(unknown))
  return { ...entry, modified: writable(modified), ...(created && { created: writable(created) }) }
}
