import { NodekeepError, withTimeLimit } from '@nodekeep/plugin-sdk'

/** Milliseconds for one question to a storage. */
const storageMs = 3000

/**
 * Waits 3 seconds for a storage. One that hangs must not keep the node from starting, nor hold up other storages.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE when the time is over
 */
export function withStorageLimit<T>(answer: Promise<T>): Promise<T> {
  const late = new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The storage does not answer in time. Try again later.',
    {
      headers: { 'retry-after': '30' },
    },
  )
  return withTimeLimit(answer, storageMs, late)
}
