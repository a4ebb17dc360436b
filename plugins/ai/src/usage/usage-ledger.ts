import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import { dayOf, daysUpTo, untilDaysAfter } from './day.ts'
import { DayUsage } from './day-usage.ts'
import type { UsageRow } from './usage-row.ts'

/** Longest time between a change and its being stored. */
const writeBehindMs = 1000

/** Days of users that are kept in memory although nothing of them is to be stored. */
const mostIdle = 1000

export interface LedgerParts {
  readonly state: StateStore
  readonly keepDays: number
  readonly log: Log
}

/** What a user used on a day, as the report has it. */
export interface DayReport extends UsageRow {
  /** A day of UTC, as `2026-07-31`. */
  readonly day: string
}

/**
 * What all users used, by day. Changes are stored a moment later, many at once; a crash loses a second of them at
 * most. An entry of the state is named `DAY/USER` and forgets itself.
 */
export class UsageLedger {
  readonly #parts: LedgerParts
  readonly #days = new Map<string, DayUsage>()
  readonly #loading = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #sweep: NodeJS.Immediate | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: LedgerParts) {
    this.#parts = parts
  }

  /** What a user used today. Tell by `close` when nothing more is to be added. */
  async open(userUuid: string): Promise<DayUsage> {
    const key = `${dayOf(Date.now())}/${userUuid}`
    for (;;) {
      const day = this.#days.get(key)
      if (day !== undefined) {
        day.open += 1
        return day
      }
      // Once it is loaded it is looked up again: others may have made room, or erased it, before its turn came.
      await this.#load(key)
    }
  }

  close(day: DayUsage): void {
    day.open -= 1
    // Later, when nobody has a day in their hands that they have not opened yet.
    if (this.#days.size > mostIdle) this.#sweep ??= setImmediate(() => this.#forgetIdle())
  }

  /** The days that are kept, the earliest first, and the models of each by their names; those without use are left out. */
  async report(userUuid: string): Promise<DayReport[]> {
    const days = daysUpTo(Date.now(), this.#parts.keepDays)
    const reports = days.map(async (day) => {
      const key = `${day}/${userUuid}`
      const rows = this.#days.get(key)?.rows ?? (await this.#read(key))
      return rows.toSorted(byName).map((row) => ({ day, ...row }))
    })
    return (await Promise.all(reports)).flat()
  }

  /** Removes everything of a user. */
  erase(userUuid: string): Promise<void> {
    const isTheirs = (key: string) => key.endsWith(`/${userUuid}`)
    return this.#inTurn(async () => {
      for (const key of this.#days.keys()) if (isTheirs(key)) this.#days.delete(key)
      const keys: string[] = []
      for await (const [key] of this.#parts.state.entries()) if (isTheirs(key)) keys.push(key)
      for (const key of keys) await this.#parts.state.delete(key)
    })
  }

  /** Stores what is not stored yet. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return this.#inTurn(async () => {
      for (const day of this.#days.values()) if (day.changed) await this.#store(day)
    })
  }

  #load(key: string): Promise<void> {
    const known = this.#loading.get(key)
    if (known !== undefined) return known
    const loading = this.#read(key)
      .then((rows) => {
        this.#days.set(key, new DayUsage(key, rows, () => this.#writeSoon()))
      })
      .finally(() => this.#loading.delete(key))
    this.#loading.set(key, loading)
    return loading
  }

  async #read(key: string): Promise<readonly UsageRow[]> {
    return (await this.#parts.state.get<UsageRow[]>(key)) ?? []
  }

  async #store(day: DayUsage): Promise<void> {
    const { state, keepDays } = this.#parts
    day.changed = false
    try {
      await state.set(day.key, day.rows, untilDaysAfter(Date.now(), keepDays))
    } catch (error) {
      day.changed = true
      throw error
    }
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.flush().catch((error) => {
        this.#parts.log.warn({ err: error }, 'The usage of AI could not be stored. It is tried again.')
        this.#writeSoon()
      })
    }, writeBehindMs)
  }

  #forgetIdle(): void {
    this.#sweep = undefined
    for (const [key, day] of this.#days) {
      if (day.open === 0 && !day.changed) this.#days.delete(key)
    }
  }

  /** One piece of work on the state at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work)
    this.#last = turn.catch(() => {})
    return turn
  }
}

function byName(a: UsageRow, b: UsageRow): number {
  return a.provider < b.provider || (a.provider === b.provider && a.model < b.model) ? -1 : 1
}
