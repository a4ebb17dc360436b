import { Cron } from 'croner'

/** Times at which something is due, by a cron expression in the time zone of the machine. */
export class Schedule {
  readonly #cron: Cron

  /** @param expression without a {@link scheduleProblem} */
  constructor(expression: string) {
    this.#cron = new Cron(expression, { paused: true })
  }

  /** The first due time after a moment; null if there is none. */
  after(moment: Date): Date | null {
    return this.#cron.nextRun(moment)
  }
}

/** Tells what is wrong with a cron expression: the rest of a sentence about it. Returns `null` if nothing is. */
export function scheduleProblem(expression: string): string | null {
  const example = 'Write one such as "30 3 * * *", which is every night at half past three.'
  try {
    const cron = new Cron(expression, { paused: true })
    return cron.nextRun() === null ? `is a cron expression that is never due. ${example}` : null
  } catch {
    return `is no cron expression: minute, hour, day of the month, month and weekday. ${example}`
  }
}

/** The longest wait of one timer, in milliseconds. A clock that was set is noticed after it. */
const longestWaitMs = 60_000

/**
 * Runs work when it is due. A run that was missed, as by a node that was off, is made up for once. Runs never overlap.
 *
 * @param lastRun when the work ran last; null for never, which misses nothing
 * @returns ends the schedule
 */
export function runOnSchedule(
  schedule: Schedule,
  lastRun: Date | null,
  run: () => Promise<void>,
): () => void {
  let from = lastRun ?? new Date()
  let timer: NodeJS.Timeout
  let ended = false
  const wait = () => {
    const due = schedule.after(from)
    if (ended || due === null) return
    const ms = due.getTime() - Date.now()
    const next = ms <= longestWaitMs ? begin : wait
    timer = setTimeout(next, Math.min(Math.max(ms, 0), longestWaitMs))
    timer.unref()
  }
  const begin = () => {
    from = new Date()
    void run().finally(wait)
  }
  wait()
  return () => {
    ended = true
    clearTimeout(timer)
  }
}
