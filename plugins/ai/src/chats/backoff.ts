import type { NodekeepError } from '@nodekeep/plugin-sdk'
import { retryAfterSeconds } from './provider-failure.ts'

export interface RetryPolicy {
  /** How often to ask again. */
  readonly max: number
  readonly firstDelayMs: number
  readonly longestDelayMs: number
}

/**
 * How long to wait before a retry, in milliseconds: a random time, so that those who failed together don't come back
 * together, up to a limit that doubles; and no less than the provider asks for.
 *
 * @param retry counted from 0
 * @returns `null` when the provider asks for more than anybody should wait
 */
export function delayBefore(retry: number, failure: NodekeepError, policy: RetryPolicy): number | null {
  const { firstDelayMs, longestDelayMs } = policy
  const asked = (retryAfterSeconds(failure) ?? 0) * 1000
  if (asked > longestDelayMs) return null
  return asked + Math.random() * Math.min(longestDelayMs, firstDelayMs * 2 ** retry)
}
