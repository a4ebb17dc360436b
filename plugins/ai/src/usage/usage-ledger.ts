import { type Log, Mutex, type StateStore } from '@nodekeep/plugin-sdk'
import { dayOf, daysUpTo, untilDaysAfter } from './day.ts'
import { DayUsage, type UsageRow } from './day-usage.ts'

/** Longest time between a change and its being stored. */
const writeBehindMs = 1000

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
  readonly #mutex = new Mutex()
  #timer: NodeJS.Timeout | undefined

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
    this.#forgetIfIdle(day)
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
    return this.#mutex.run(async () => {
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
    return this.#mutex.run(async () => {
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
      this.#forgetIfIdle(day)
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

  /** A day stays in memory while chats are open or something is not stored. */
  #forgetIfIdle(day: DayUsage): void {
    if (day.open === 0 && !day.changed && this.#days.get(day.key) === day) this.#days.delete(day.key)
  }
}

function byName(a: UsageRow, b: UsageRow): number {
  return a.provider < b.provider || (a.provider === b.provider && a.model < b.model) ? -1 : 1
}
