/**
 * Why the words of a file cannot be found. Only `unreadable` is tried again.
 *
 * - `too-large`: the file has more bytes than the configuration allows
 * - `refused`: it is damaged or encrypted
 * - `time`, `memory`: the extraction took too long, or too much memory
 * - `ended`: the process of the extraction died
 * - `unreadable`: the file could not be read. It is tried again
 */
export type FailureReason = 'too-large' | 'refused' | 'time' | 'memory' | 'ended' | 'unreadable'

/** The state of an entry: `none` if it has no text. */
export type EntryState = 'none' | 'waiting' | 'indexed' | FailureReason
