/** The same stream, but an abort ends the waiting for its next chunk. */
export async function* interruptible<T>(stream: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = stream[Symbol.asyncIterator]()
  let interrupt = (_reason: unknown): void => {}
  const abort = () => interrupt(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    while (true) {
      signal.throwIfAborted()
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        interrupt = reject
        iterator.next().then(resolve, reject)
      })
      if (step.done) return
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    // Not waited for: a stream that is silent stays so when it is told to end.
    iterator.return?.().catch(() => {})
  }
}
