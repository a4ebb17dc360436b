import type { StateStore } from '@nodekeep/plugin-sdk'

const key = 'schedule'

interface FirstCheck {
  /** The last run at that time, as a number of milliseconds since 1970. */
  readonly lastRun: number
  /** In milliseconds since 1970. */
  readonly at: number
}

/**
 * Returns when a start first found that the last run lies in the future; `null` if it does not. The clock was ahead at that run, so
 * only the time since this first check is certain. It is stored: otherwise that time would start at zero with each start, and a
 * machine that is off at each due time would never run the work again.
 */
export async function firstCheck(
  state: Pick<StateStore, 'get' | 'set'>,
  lastRun: Date | null,
): Promise<Date | null> {
  const now = Date.now()
  if (lastRun === null || lastRun.getTime() <= now) return null
  const stored = await state.get<FirstCheck>(key)
  if (stored?.lastRun === lastRun.getTime() && stored.at <= now) return new Date(stored.at)
  // A full disk must not keep the node from starting.
  await state.set(key, { lastRun: lastRun.getTime(), at: now } satisfies FirstCheck).catch(() => {})
  return new Date(now)
}
