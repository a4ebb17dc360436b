import { NodekeepError, withTimeLimit } from '@nodekeep/plugin-sdk'

/** How long a source may take for its next item. */
export interface StallLimit {
  readonly stallMs: number
  readonly signal: AbortSignal
}

/** One error for all waits: the stack of each would cost more than the rest of the wait. */
const stalled = new Error('stalled')

/**
 * Passes on the items of a source that may hang. When it ends early, the source is left, and destroyed if it is a stream.
 *
 * Throws the reason of the signal, and NodekeepError INTERNAL_ERROR after a wait that is too long.
 *
 * @param late says what did not come, for the message
 */
export async function* inTime<Item>(
  source: AsyncIterable<Item> & { destroy?(): unknown },
  late: () => string,
  { stallMs, signal }: StallLimit,
): AsyncGenerator<Item, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  let isWhole = false
  try {
    for (;;) {
      const next = await withTimeLimit(iterator.next(), stallMs, stalled, signal)
      if (next.done) {
        isWhole = true
        return
      }
      yield next.value
    }
  } catch (error) {
    if (error !== stalled) throw error
    throw new NodekeepError('INTERNAL_ERROR', `The backup failed: ${late()} for ${stallMs / 1000} s.`)
  } finally {
    if (source.destroy) source.destroy()
    // Without waiting for the end: it may never come.
    else if (!isWhole) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}
