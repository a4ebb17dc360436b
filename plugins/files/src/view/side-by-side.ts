/**
 * Does the same with each item, so many at once. When one fails, the signal of the others is aborted and no further
 * one begins. What runs is always waited for: nothing goes on after the end.
 *
 * @throws the first failure, of an item or of the items' source
 */
export async function sideBySide<T>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
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
  const until = async (most: number) => {
    while (running > most) {
      ended = Promise.withResolvers()
      await ended.promise
    }
  }
  try {
    for await (const item of items) {
      begin(item)
      await until(width - 1)
      if (failed.signal.aborted) break
    }
  } catch (error) {
    failed.abort(error)
  }
  await until(0)
  failed.signal.throwIfAborted()
}
