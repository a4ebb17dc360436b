/** Why the words of a file cannot be found. The same content is not tried again, unless `unreadable` is the reason. */
export const failureReasons = ['too-large', 'refused', 'time', 'memory', 'ended', 'unreadable'] as const

/**
 * - `too-large`: the file has more bytes than the configuration allows
 * - `refused`: it is damaged or encrypted
 * - `time`, `memory`: the extraction took too long, or too much memory
 * - `ended`: the process of the extraction died
 * - `unreadable`: the file could not be read. It is tried again
 */
export type FailureReason = (typeof failureReasons)[number]

/** The state of an entry: `none` if it has no text. */
export type EntryState = 'none' | 'waiting' | 'indexed' | FailureReason
