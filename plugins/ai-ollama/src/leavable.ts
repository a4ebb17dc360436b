import type { ChatDelta } from '@nodekeep/plugin-sdk'

/**
 * A reply whose call ends at once when its loop is left. A generator alone would first wait for the piece that it was
 * asked for, which may never come.
 *
 * @param read makes the call, and ends it when its signal aborts
 */
export function leavable(
  signal: AbortSignal,
  read: (signal: AbortSignal) => AsyncGenerator<ChatDelta>,
): AsyncIterable<ChatDelta> {
  return {
    [Symbol.asyncIterator]() {
      const left = new AbortController()
      const deltas = read(AbortSignal.any([signal, left.signal]))
      return {
        next: () => deltas.next(),
        return() {
          left.abort()
          return deltas.return(undefined)
        },
      }
    },
  }
}
