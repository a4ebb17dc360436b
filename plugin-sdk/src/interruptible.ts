/**
 * The same items, but an abort ends the waiting for the next one. Whoever takes in a stream needs that: its source may
 * be silent for ever, such as a client that has stopped sending. The source is told to return and is left to itself.
 *
 * @param signals any of which ends it, also one that was aborted before
 * @throws the reason of the signal, or whatever the source throws
 *
 * @example
 * async write(path, content, { signal }) {
 *   for await (const chunk of interruptible(content, signal, this.#closing.signal)) await upload.append(chunk)
 * }
 */
export async function* interruptible<T>(
  source: AsyncIterable<T>,
  ...signals: readonly (AbortSignal | undefined)[]
): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  const given = signals.filter((signal) => signal !== undefined)
  let interrupt = (_reason: unknown): void => {}
  const abort = ({ target }: Event) => interrupt((target as AbortSignal).reason)
  for (const signal of given) signal.addEventListener('abort', abort)
  try {
    for (;;) {
      for (const signal of given) signal.throwIfAborted()
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        interrupt = reject
        iterator.next().then(resolve, reject)
      })
      if (step.done) return
      yield step.value
    }
  } finally {
    for (const signal of given) signal.removeEventListener('abort', abort)
    // Not waited for: a source that is silent stays so when it is told to end.
    iterator.return?.().catch(() => {})
  }
}
