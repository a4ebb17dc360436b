const eagerMs = 60_000
const firstDelayMs = 250
const eagerDelayMs = 2000
const patientDelayMs = 30_000

/**
 * Returns how long to wait before the next attempt to reach the gateway: not at all at first, at most 2 s for the first minute,
 * and at most 30 s from then on. Nodes that lost their gateway together come back apart.
 *
 * @param attempt the number of attempts since the loss
 * @param sinceMs the time since the loss
 * @param random from 0 to 1
 */
export function retryDelay(attempt: number, sinceMs: number, random = Math.random()): number {
  if (attempt === 0) return 0
  const most = sinceMs < eagerMs ? eagerDelayMs : patientDelayMs
  return Math.min(firstDelayMs * 2 ** (attempt - 1), most) * (0.5 + random / 2)
}
