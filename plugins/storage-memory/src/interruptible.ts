/**
 * The same chunks, but an abort of the signal ends the waiting for one of them.
 *
 * @throws the reason of the signal
 */
export async function* interruptible(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  let interrupt = (_reason: unknown): void => {}
  const abort = () => interrupt(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    while (true) {
      signal.throwIfAborted()
      const step = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        interrupt = reject
        chunks.next().then(resolve, reject)
      })
      if (step.done) return
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    // Not waited for: a source that is silent stays so when it is told to end.
    chunks.return?.().catch(() => {})
  }
}
