/**
 * Waits for work until a signal aborts. The work itself goes on.
 *
 * @throws the signal's reason, also if it aborted before, or the error of the work
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Passes bytes on until a signal aborts. The content is not ended.
 *
 * @throws the signal's reason, or the error of the content
 */
export async function* bytesUntilAborted(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = content[Symbol.asyncIterator]()
  for (;;) {
    const step = await untilAborted(chunks.next(), signal)
    if (step.done) return
    yield step.value
  }
}
