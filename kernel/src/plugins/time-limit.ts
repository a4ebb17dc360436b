/**
 * Waits for work, but not longer than the limit. The work itself can't be taken back: it should watch a signal.
 *
 * @param late what to reject with when the time is over: an error, or the message of one
 * @param signal ends the wait when it is aborted, with the signal's reason
 */
export async function withTimeLimit<T>(
  work: Promise<T> | T,
  ms: number,
  late: string | Error,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late instanceof Error ? late : new Error(late)), ms)
  const giveUp = () => reject(signal?.reason)
  if (signal?.aborted) giveUp()
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

/** A duration for people: `30 s`, `250 ms`. */
export function duration(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}
