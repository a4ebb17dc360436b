/** What a program has had since it was sent, in milliseconds. */
export interface Spent {
  readonly elapsedMs: number
  /** On processors, all threads together. */
  readonly usedMs: number
  /** For how long its threads could have run and had no processor, all together; 0 where nobody knows. */
  readonly waitedMs: number
}

/** A program that has had so much of its time goes on no longer. */
const leastShare = 0.25
/** So many times its limit is the longest for one that has had less, since others have the processors. */
const stretch = 2

/**
 * Whether a program has to end at its time limit. On a busy machine the innocent take long, too: who has hardly had a
 * processor gets the same time once more. Who sleeps or waits for something else does not.
 */
export function isOverdue({ elapsedMs, usedMs, waitedMs }: Spent, timeoutMs: number): boolean {
  if (elapsedMs < timeoutMs) return false
  // Threads that wait side by side wait longer than the clock runs. What they had they had.
  const tookMs = Math.max(elapsedMs - waitedMs, usedMs)
  return tookMs >= timeoutMs * leastShare || elapsedMs >= timeoutMs * stretch
}
