import { ForeignFailure } from '../disk/disk-errors.ts'

/**
 * The chunks of somebody's stream, until a signal ends it. The wait for a stream that stays silent ends then too: the
 * stream is told to return, and left to itself.
 *
 * @throws ForeignFailure with the stream's failure or the signal's reason
 */
export async function* interruptible(
  content: AsyncIterable<Uint8Array>,
  signals: readonly AbortSignal[],
): AsyncGenerator<Uint8Array, void> {
  const iterator = content[Symbol.asyncIterator]()
  let interrupt: (reason: unknown) => void = () => {}
  const onAbort = (event: Event) => interrupt((event.target as AbortSignal).reason)
  for (const signal of signals) signal.addEventListener('abort', onAbort)
  let finished = false
  try {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array>>()
      interrupt = reject
      for (const signal of signals) if (signal.aborted) reject(signal.reason)
      iterator.next().then(resolve, (failure) => {
        finished = true
        reject(failure)
      })
      const step = await promise
      if (step.done) {
        finished = true
        return
      }
      yield step.value
    }
  } catch (failure) {
    throw new ForeignFailure(failure)
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', onAbort)
    if (!finished) leave(iterator)
  }
}

/** Not awaited: a generator that waits for ever would answer never. */
function leave(iterator: AsyncIterator<Uint8Array>): void {
  iterator.return?.().catch(() => {})
}
