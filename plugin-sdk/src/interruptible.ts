/**
 * Yields the items of a stream, but ends the wait for the next item when a signal aborts. Code that receives a stream
 * needs this: the source may stay silent forever, such as a client that stopped sending. At the end, `return` of the
 * source is called and not awaited.
 *
 * @param signals each of them ends the stream, even if it was aborted before
 * @throws the reason of the signal, or the error of the source
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
    // Without `await`: a silent source does not answer.
    iterator.return?.().catch(() => {})
  }
}
