import { type Log, Mutex, type StateStore } from '@nodekeep/plugin-sdk'
import { dayOf, daysUpTo, untilDaysAfter } from './day.ts'
import { DayUsage, type UsageRow } from './day-usage.ts'

/** Time from a change until it is stored, in milliseconds. */
const writeBehindMs = 1000

interface LedgerServices {
  readonly state: StateStore
  readonly keepDays: number
  readonly log: Log
}

/** The usage of one model on one day. */
interface DayReport extends UsageRow {
  /** A day of UTC, as `2026-07-31`. */
  readonly day: string
}

/**
 * The usage of all users, by day. Changes are stored together within a second, so a crash loses at most one second. The
 * key of a stored day is `DAY/USER`. It expires after `keepDays` days.
 */
export class UsageLedger {
  readonly #services: LedgerServices
  readonly #days = new Map<string, DayUsage>()
  readonly #loading = new Map<string, Promise<void>>()
  readonly #mutex = new Mutex()
  #timer: NodeJS.Timeout | undefined

  constructor(services: LedgerServices) {
    this.#services = services
  }

  /** Opens today's usage of a user. Call `close` when nothing more will be added. */
  async open(userUuid: string): Promise<DayUsage> {
    const key = `${dayOf(Date.now())}/${userUuid}`
    for (;;) {
      const day = this.#days.get(key)
      if (day !== undefined) {
        day.open += 1
        return day
      }
      // Read from the map again: the user may have been erased during the load.
      await this.#load(key)
    }
  }

  close(day: DayUsage): void {
    day.open -= 1
    this.#forgetIfIdle(day)
  }

  /** Returns the stored days, the earliest first, with their models by name. Days without usage are left out. */
  async report(userUuid: string): Promise<DayReport[]> {
    const days = daysUpTo(Date.now(), this.#services.keepDays)
    const reports = days.map(async (day) => {
      const key = `${day}/${userUuid}`
      const rows = this.#days.get(key)?.rows ?? (await this.#read(key))
      return rows.toSorted(byName).map((row) => ({ day, ...row }))
    })
    return (await Promise.all(reports)).flat()
  }

  /** Deletes the usage of a user. */
  erase(userUuid: string): Promise<void> {
    const isTheirs = (key: string) => key.endsWith(`/${userUuid}`)
    return this.#mutex.run(async () => {
      for (const key of this.#days.keys()) if (isTheirs(key)) this.#days.delete(key)
      const keys: string[] = []
      for await (const [key] of this.#services.state.entries()) if (isTheirs(key)) keys.push(key)
      for (const key of keys) await this.#services.state.delete(key)
    })
  }

  /** Stores all changes. */
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
    return (await this.#services.state.get<UsageRow[]>(key)) ?? []
  }

  async #store(day: DayUsage): Promise<void> {
    const { state, keepDays } = this.#services
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
        this.#services.log.warn({ err: error }, 'The AI usage could not be stored. The node retries.')
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
