import { notAfterNow } from '@nodekeep/plugin-sdk'
import { Cron } from 'croner'

/** Returns what is wrong with a cron expression, as the rest of a sentence about it; `null` if nothing is. */
export function scheduleProblem(expression: string): string | null {
  const example = 'Write one such as "30 3 * * *", which is every night at half past three.'
  try {
    const cron = new Cron(expression, { paused: true })
    return cron.nextRun() === null ? `is a cron expression that is never due. ${example}` : null
  } catch {
    return `is no cron expression: minute, hour, day of the month, month and weekday. ${example}`
  }
}

/** Returns the next due time of a cron expression; the present without an expression. */
export function nextDue(expression: string | undefined): Date {
  const next = expression === undefined ? null : new Cron(expression, { paused: true }).nextRun()
  return next ?? new Date()
}

/** The longest wait of one timer, in milliseconds. A clock that was set is noticed after it. */
const longestWaitMs = 60_000

/** The due times that are remembered, so that a clock that is set back does not make them due again. */
const rememberedRuns = 1000

/**
 * Runs work at the due times of a cron expression, in the time zone of the machine. A run that was missed, as by a node that was
 * off, is made up for once. Runs never overlap. A due time has one run, however the clock is set meanwhile.
 */
export class Schedule {
  readonly #cron: Cron
  /** The due times that had their runs, in the order of these. */
  readonly #done = new Set<number>()
  /** The last run. It lies in the future if the clock was ahead then. */
  #lastRun: Date
  /** The last time the clock was read, also by an earlier start. */
  #checkedAt: Date
  #next: Date | null
  /** The due time of the run that is under way. */
  #running: Date | null = null
  #timer: NodeJS.Timeout | undefined
  #ended = false

  /**
   * @param expression without a {@link scheduleProblem}
   * @param lastRun when the work ran last; null for never, which misses nothing
   * @param checkedAt when an earlier start has read the clock, after the last run. It counts if the last run lies in the future
   */
  constructor(expression: string, lastRun: Date | null, checkedAt: Date | null = null) {
    this.#cron = new Cron(expression, { paused: true })
    const now = new Date()
    this.#checkedAt = notAfterNow(checkedAt ?? now, now)
    this.#lastRun = lastRun ?? now
    this.#next = this.#firstAfter(this.#lastRun <= now ? this.#lastRun : this.#checkedAt)
  }

  /** The due time that the next run waits for; null if there is none. */
  get next(): Date | null {
    return this.#next
  }

  /** The due time whose run is under way, or that of the next run. It is late if it has been over for long. */
  get due(): Date | null {
    return this.#running ?? this.#next
  }

  start(run: () => Promise<void>): void {
    const check = () => {
      if (this.#ended) return
      const now = new Date()
      // While the last run lies in the future, only the time since the last check is certain.
      const since = this.#lastRun <= now ? this.#lastRun : notAfterNow(this.#checkedAt, now)
      this.#checkedAt = now
      this.#next = this.#firstAfter(since)
      const ms = this.#next === null ? longestWaitMs : this.#next.getTime() - now.getTime()
      if (this.#next !== null && ms <= 0) begin(this.#next, now)
      else this.#timer = setTimeout(check, Math.min(ms, longestWaitMs)).unref()
    }
    const begin = (due: Date, now: Date) => {
      // The run of a time that was missed is that of the latest one.
      const [latest = due] = this.#cron.previousRuns(1, new Date(now.getTime() + 1))
      this.#done.add(latest.getTime())
      const [oldest] = this.#done
      if (this.#done.size > rememberedRuns) this.#done.delete(oldest as number)
      this.#lastRun = now
      this.#running = due
      this.#next = this.#firstAfter(now)
      void run().finally(() => {
        this.#running = null
        check()
      })
    }
    check()
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  /** The first due time after a moment that had no run yet. */
  #firstAfter(moment: Date): Date | null {
    let due = this.#cron.nextRun(moment)
    while (due !== null && this.#done.has(due.getTime())) due = this.#cron.nextRun(due)
    return due
  }
}
