import { setTimeout as pause } from 'node:timers/promises'

/** Says that another connection had the lock and that nothing was changed, so that the same can be tried again. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld'
}

const longestPauseMs = 100

/**
 * Tries again, in growing intervals, while the work rejects with {@link LockHeld}. SQLite would wait by itself, but
 * hold up the whole process with it.
 *
 * @param patienceMs how long; then it rejects with what the error was caused by
 */
export async function withPatience<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  const end = performance.now() + patienceMs
  for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error
      if (performance.now() >= end) throw error.cause
      await pause(pauseMs)
    }
  }
}
