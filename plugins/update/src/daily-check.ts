const dayMs = 24 * 60 * 60_000
/** Time between a start and the earliest check, in milliseconds. */
const quietStartMs = 60_000
/** Nodes that start at the same time, as after a power cut, ask at different times. */
const jitterMs = 60 * 60_000

/**
 * Returns when the next daily check is due, in milliseconds from now: a day after the last one and a random time of up to an hour. A check
 * that was missed follows soon. A clock that was set back does not delay it by more than a day.
 *
 * @param triedAt when the last check was tried; `null` for never
 */
export function nextCheckIn(triedAt: Date | null, now: Date, random: () => number): number {
  const sinceMs = triedAt === null ? dayMs : now.getTime() - triedAt.getTime()
  const leftMs = sinceMs < 0 ? 0 : Math.max(0, dayMs - sinceMs)
  return quietStartMs + leftMs + Math.floor(random() * jitterMs)
}

/** The longest wait of one timer, in milliseconds. Timers stand still while the machine sleeps. */
const longestWaitMs = 10 * 60_000

/**
 * Runs work every day, also on a machine that sleeps for most of it.
 *
 * @returns ends the schedule
 */
export function everyDay(triedAt: () => Date | null, work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout
  let ended = false
  const begin = () => {
    if (ended) return
    const share = Math.random()
    let leftMs = nextCheckIn(triedAt(), new Date(), () => share)
    const wait = () => {
      const ms = Math.min(leftMs, longestWaitMs)
      timer = setTimeout(() => {
        // The clock goes on while the machine sleeps. One that is set back does not put the check off.
        leftMs = Math.min(
          leftMs - ms,
          nextCheckIn(triedAt(), new Date(), () => share),
        )
        if (leftMs > 0) wait()
        else void work().finally(begin)
      }, ms)
      timer.unref()
    }
    wait()
  }
  begin()
  return () => {
    ended = true
    clearTimeout(timer)
  }
}
