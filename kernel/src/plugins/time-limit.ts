/**
 * Waits for work, but not longer than the limit. The work itself can't be taken back: it should watch a signal.
 *
 * @throws Error with the given message when the time is over
 */
export async function withTimeLimit<T>(work: Promise<T> | T, ms: number, message: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(message)), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** A duration for people: `30 s`, `250 ms`. */
export function duration(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}
