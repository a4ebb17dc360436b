import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Milliseconds for one look at a storage. */
export const lookMs = 3000

/** Milliseconds for which the start of the node waits for what storages are asked. */
export const startMs = 10_000

/**
 * Waits for a storage, but not for ever: one that hangs must not keep the node from starting, nor other storages from
 * their turn. What it was asked goes on.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the time is over
 */
export async function inTime<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooLate()), limitMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function tooLate(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The storage does not answer in time. Try again later.', {
    headers: { 'retry-after': '30' },
  })
}
