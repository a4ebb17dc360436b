/**
 * Waits for work, but not longer than a limit. The work itself goes on: give it a signal if it can stop.
 *
 * @param work what to wait for
 * @param ms the limit, in milliseconds
 * @param late what to throw when the limit is reached: an error, or the message of one
 * @param signal ends the wait early
 * @throws `late`, the signal's reason, or the error of the work
 * @example const models = await withTimeLimit(provider.models(signal), 5000, 'The provider took longer than 5 s.')
 */
export async function withTimeLimit<T>(
  work: Promise<T> | T,
  ms: number,
  late: string | Error,
  signal?: AbortSignal,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late instanceof Error ? late : new Error(late)), ms)
  const abort = () => reject(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, ended])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
