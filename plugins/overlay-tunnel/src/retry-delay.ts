const earlyMs = 60_000
const firstDelayMs = 250
const earlyDelayMs = 2000
const lateDelayMs = 30_000

/** An attempt to reach the gateway that failed. */
interface FailedAttempt {
  /** Whether nothing answered at the address of the gateway. */
  readonly isUnreachable: boolean
  /** Attempts since the loss, this one included. */
  readonly count: number
  /** The time that the attempt took, in milliseconds. */
  readonly tookMs: number
  /** The time since the loss, in milliseconds. */
  readonly sinceMs: number
}

/**
 * Returns the milliseconds to wait before the next attempt to reach the gateway: none after the loss itself. As long as nothing answers,
 * attempts begin at most 2 s apart, so that the node is back soon after the network is. A gateway that answers and fails is left
 * alone for up to 2 s, and after a minute for up to 30 s. Nodes that lost their gateway together come back apart.
 *
 * @param random from 0 to 1
 */
export function retryDelay(
  { isUnreachable, count, tookMs, sinceMs }: FailedAttempt,
  random = Math.random(),
): number {
  if (count === 0) return 0
  const most = isUnreachable || sinceMs < earlyMs ? earlyDelayMs : lateDelayMs
  const delay = Math.min(firstDelayMs * 2 ** (count - 1), most) * (0.5 + random / 2)
  return isUnreachable ? Math.max(0, delay - tookMs) : delay
}
