/**
 * Does the same work with each item, a few at a time. When one fails, the signal of the others is aborted and no further
 * one begins. Running work is always awaited: nothing continues after the end. (p-map rejects while work still runs.)
 *
 * @param limit items at a time
 * @throws the first failure, of an item or of the iterable
 */
export async function concurrently<T>(
  items: AsyncIterable<T> | Iterable<T>,
  limit: number,
  work: (item: T, failed: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController()
  let running = 0
  let ended = Promise.withResolvers<void>()
  const begin = async (item: T) => {
    running += 1
    await work(item, failed.signal).catch((error: unknown) => failed.abort(error))
    running -= 1
    ended.resolve()
  }
  const untilAtMost = async (count: number) => {
    while (running > count) {
      ended = Promise.withResolvers()
      await ended.promise
    }
  }
  try {
    for await (const item of items) {
      begin(item)
      await untilAtMost(limit - 1)
      if (failed.signal.aborted) break
    }
  } catch (error) {
    failed.abort(error)
  }
  await untilAtMost(0)
  failed.signal.throwIfAborted()
}
