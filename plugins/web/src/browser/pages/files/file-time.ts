/** Chromium tells the start of 1601 for a file without a time, and Chrome on Android for every file. In milliseconds since 1970. */
const none = Date.UTC(1601, 0, 1)

/** Returns the time of a file on the disk; null if the browser does not know it. */
export function timeOf({ lastModified }: File): Date | null {
  return lastModified === none ? null : new Date(lastModified)
}
