import { setImmediate as nextTurn } from 'node:timers/promises'
import { concurrently, isNodekeepError, type Log, type StateStore } from '@nodekeep/plugin-sdk'
import type { KeptEntry, VersionOfFile } from '../entries/kept-reader.ts'
import type { Journal } from '../journal/journal.ts'
import type { ScopeOf } from '../operations/scope.ts'
import type { UserPath } from '../paths/user-path.ts'
import { forgetGone } from './gone-entries.ts'
import { removeKeptIfFree } from './kept-entries.ts'
import { clockAfter, type PurgeClock } from './purge-clock.ts'
import { thinned } from './thinning.ts'

const minuteMs = 60 * 1000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Milliseconds between two purges. One that waits for the clock comes sooner. */
const intervalMs = hourMs

/** Nothing younger gives way to other files. Milliseconds. */
const youngestMs = dayMs

/** Rows that are read at a time. */
const pageRows = 300

/** Entries whose files are removed at a time. */
const removalsAtOnce = 4

/** The key of the state that has the clock. */
const clockKey = 'purge-clock'

interface PurgeServices {
  readonly journal: Journal
  readonly scopeOf: ScopeOf
  /** Asks the storage of a mount whose files it has now, so that the index follows it. */
  readonly identify: (mount: UserPath) => Promise<void>
  readonly state: Pick<StateStore, 'get' | 'set'>
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>
  readonly signal: AbortSignal
}

/** The times for which something is kept, in days. */
interface KeptDays {
  readonly trash: number
  readonly versions: number
}

/** A clock of the machine: the time of day in milliseconds since 1970, and one that only counts the time for which it runs. */
interface Clock {
  now(): number
  running(): number
}

const machineClock: Clock = { now: () => Date.now(), running: () => performance.now() }

/**
 * Deletes what was kept long enough, now and every hour, and what has to give way to other files. A start also ends what a crash has left of
 * deletions.
 */
export class Purge {
  readonly #services: PurgeServices
  readonly #days: KeptDays
  readonly #clock: Clock
  #last: PurgeClock | undefined
  #lastRunning: number | undefined
  #running: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #isWaiting = false

  constructor(services: PurgeServices, days: KeptDays, clock = machineClock) {
    this.#services = services
    this.#days = days
    this.#clock = clock
  }

  start(): void {
    this.#inTurn(() => forgetGone(this.#services))
    this.#runAndRepeat()
  }

  /** Waits for the purge that runs. The signal has ended it. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Purges after the purges that were asked for before. Resolves in any case. */
  run(): Promise<void> {
    return this.#inTurn(() => this.#purge())
  }

  async #runAndRepeat(): Promise<void> {
    await this.run()
    if (this.#services.signal.aborted) return
    const waitMs = this.#last?.waitMs || intervalMs
    this.#timer = setTimeout(() => this.#runAndRepeat(), Math.min(waitMs, intervalMs)).unref()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.then(async () => {
      const { log, signal } = this.#services
      if (signal.aborted) return
      try {
        await work()
      } catch (error) {
        if (signal.aborted) return
        log.warn(
          { err: error },
          'Old items of the trash and old versions could not be deleted. The node tries again in an hour.',
        )
      }
    })
    return this.#running
  }

  /** Counts the bytes of what is kept of a user and may give way, which is nothing younger than 24 hours, until they are enough. */
  async spareBytes(userUuid: string, enough: number): Promise<number> {
    const now = await this.#now()
    return now === null ? 0 : this.#spareAt(now, userUuid, enough)
  }

  /**
   * Deletes the oldest of what is kept of a user and may give way, until it had a number of bytes. Deletes nothing if all of it has fewer.
   *
   * @returns the bytes of what was deleted
   */
  async makeRoom(userUuid: string, bytes: number): Promise<number> {
    const now = await this.#now()
    if (now === null || (await this.#spareAt(now, userUuid, bytes)) < bytes) return 0
    const silent = new Set<string>()
    let freed = 0
    for await (const row of this.#oldEnough(userUuid, now)) {
      // Another call may have deleted it meanwhile.
      if (await this.#remove(row, silent)) freed += row.entry.size
      if (freed >= bytes) break
    }
    return freed
  }

  async #spareAt(now: number, userUuid: string, enough: number): Promise<number> {
    let bytes = 0
    for await (const { entry } of this.#oldEnough(userUuid, now)) {
      bytes += entry.size
      if (bytes >= enough) break
    }
    return bytes
  }

  /** Yields the kept entries of a user that may give way, the oldest first. Those on a storage without a mount take no room of a quota. */
  async *#oldEnough(userUuid: string, now: number): AsyncGenerator<KeptEntry, void, undefined> {
    const { journal, scopeOf } = this.#services
    const { mounts } = scopeOf(userUuid, {})
    for (let after = 0; ; await nextTurn()) {
      const rows = (await journal.keptOf(userUuid)).oldest(userUuid, after, pageRows)
      for (const row of rows) {
        if (now - row.at < youngestMs) return
        if (mounts.pointOfStorage(row.storage) !== null) yield row
      }
      const last = rows.at(-1)
      if (last === undefined) return
      after = last.number
    }
  }

  async #purge(): Promise<void> {
    const now = await this.#now()
    if (now === null) return
    const silent = new Set<string>()
    await this.#purgeTrash(now, silent)
    await this.#purgeVersions(now, silent)
  }

  /** The time by the clock; null if nothing may be purged by it. */
  async #now(): Promise<number | null> {
    const { state, log } = this.#services
    this.#last ??= await state.get<PurgeClock>(clockKey)
    const running = this.#clock.running()
    const clock = clockAfter(this.#last, this.#clock.now(), running - (this.#lastRunning ?? running))
    this.#last = clock
    this.#lastRunning = running
    // A full disk must not keep the purge from making room. A start then knows an older clock, and purges later.
    await state.set(clockKey, clock).catch((error: unknown) => {
      log.debug({ err: error }, 'The time of the purge could not be stored.')
    })
    const isWaiting = clock.waitMs > 0
    if (isWaiting && !this.#isWaiting) {
      const message =
        'The clock has changed by more than 2 days, or the node was off for longer. The trash and versions are not purged before the node has run for some time.'
      log.info({ minutes: Math.ceil(clock.waitMs / minuteMs) }, message)
    }
    this.#isWaiting = isWaiting
    return isWaiting ? null : clock.at
  }

  async #purgeTrash(now: number, silent: Set<string>): Promise<void> {
    const before = now - this.#days.trash * dayMs
    let after = { at: Number.MIN_SAFE_INTEGER, number: 0 }
    for (;;) {
      const rows = (await this.#services.journal.keptOf('')).deletedBefore(before, after, pageRows)
      const last = rows.at(-1)
      if (last === undefined) return
      after = last
      await this.#removeAll(rows, silent)
    }
  }

  async #purgeVersions(now: number, silent: Set<string>): Promise<void> {
    const keepMs = this.#days.versions * dayMs
    let after = { of: Number.MIN_SAFE_INTEGER, number: 0 }
    let ofFile: VersionOfFile[] = []
    const endFile = async () => {
      const gone = new Set(thinned(ofFile.toReversed(), now, keepMs))
      await this.#removeAll(
        ofFile.filter(({ number, isOrphan }) => isOrphan || gone.has(number)),
        silent,
      )
      ofFile = []
    }
    for (;;) {
      const rows = (await this.#services.journal.keptOf('')).versionsAfter(after, pageRows)
      for (const row of rows) {
        if (row.of !== ofFile[0]?.of) await endFile()
        ofFile.push(row)
      }
      const last = rows.at(-1)
      if (last === undefined) return endFile()
      after = last
      // Reading is synchronous, and nobody waits for this.
      await nextTurn()
    }
  }

  async #removeAll(rows: readonly KeptEntry[], silent: Set<string>): Promise<void> {
    await concurrently(rows, removalsAtOnce, async (row) => {
      this.#services.signal.throwIfAborted()
      await this.#remove(row, silent)
    })
  }

  /**
   * @param silent storages that do not answer, which are left alone
   * @returns whether it was removed
   */
  async #remove(row: KeptEntry, silent: Set<string>): Promise<boolean> {
    if (silent.has(row.storage)) return false
    try {
      return await removeKeptIfFree(this.#services.scopeOf(row.user, {}), row)
    } catch (error) {
      if (!isNodekeepError(error)) throw error
      this.#services.log.debug({ err: error, user: row.user }, 'Something kept could not be deleted now.')
      if (error.code === 'SERVICE_UNAVAILABLE') silent.add(row.storage)
      return false
    }
  }
}
