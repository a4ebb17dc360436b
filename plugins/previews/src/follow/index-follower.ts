import { setTimeout as delay } from 'node:timers/promises'
import type { FileIndex, Log, UserDirectory } from '@nodekeep/plugin-sdk'
import type { PreviewNames } from '../preview-names.ts'
import type { EntryTable } from '../tables/entry-table.ts'

/** Milliseconds for which changes are gathered. */
const gatherMs = 300

/** Milliseconds after which an index that is being completed is read again. */
const soonMs = 500

/** Milliseconds after which an index is read again that is not complete and has nothing new, as with a storage out of reach. */
const laterMs = 30_000

/** Milliseconds after which all users are looked at: an event can be missed. */
const everyMs = 60 * 60 * 1000

/** Entries that are learned at once. */
const pageSize = 500

interface IndexFollowerServices {
  readonly index: FileIndex
  readonly users: UserDirectory
  readonly entries: EntryTable
  readonly names: PreviewNames
  readonly maxFileSize: number
  readonly isUser: (userUuid: string) => boolean
  /** Called when files may be due. */
  readonly onLearned: () => void
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Learns from the index which files may have previews. */
export class IndexFollower {
  readonly #services: IndexFollowerServices
  readonly #noticed = new Set<string>()
  #running: Promise<void> | null = null
  #hourly: NodeJS.Timeout | undefined

  constructor(services: IndexFollowerServices) {
    this.#services = services
  }

  /** Follows the index of all users from now on. */
  start(): void {
    const all = () => {
      this.#noticeAll().catch((error) => {
        if (!this.#services.signal.aborted)
          this.#services.log.warn({ err: error }, 'The users cannot be listed now.')
      })
    }
    this.#hourly = setInterval(all, everyMs).unref()
    all()
  }

  /** Takes note that the index of a user may have changed. */
  notice(userUuid: string): void {
    if (this.#services.signal.aborted) return
    this.#noticed.add(userUuid)
    this.#running ??= this.#run()
  }

  /** Whether all files of a user are known. */
  async isComplete(userUuid: string): Promise<boolean> {
    const { index, entries } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    const cursor = entries.cursorOf(userUuid)
    if ((await ofUser.isComplete()) && (await ofUser.changed(cursor, 1)).cursor === cursor) return true
    if (this.#hourly !== undefined) this.notice(userUuid)
    return false
  }

  /** Ends the timers, and waits for the end of running work, after the signal. */
  async stop(): Promise<void> {
    clearInterval(this.#hourly)
    await this.#running
  }

  async #noticeAll(): Promise<void> {
    for await (const { uuid } of this.#services.users.list()) this.notice(uuid)
  }

  async #run(): Promise<void> {
    const { signal, log, onLearned } = this.#services
    while (this.#noticed.size > 0 && !signal.aborted) {
      await delay(gatherMs, undefined, { signal, ref: false }).catch(() => {})
      for (const userUuid of [...this.#noticed]) {
        if (signal.aborted) break
        // A change from here on is noticed again.
        this.#noticed.delete(userUuid)
        try {
          await this.#follow(userUuid)
        } catch (error) {
          if (signal.aborted) break
          log.warn({ err: error, user: userUuid }, 'The index of files cannot be read now.')
          this.#noticeIn(laterMs, userUuid)
        }
        onLearned()
      }
    }
    this.#running = null
  }

  async #follow(userUuid: string): Promise<void> {
    const { index, entries, names, maxFileSize, isUser, signal } = this.#services
    const ofUser = index.for({ uuid: userUuid })
    // Otherwise an entry could come between the last page and the question.
    const isComplete = await ofUser.isComplete()
    let isNew = false
    for (let cursor = entries.cursorOf(userUuid); ; ) {
      const page = await ofUser.changed(cursor, pageSize)
      signal.throwIfAborted()
      if (!isUser(userUuid)) return
      if (page.cursor === cursor) break
      cursor = page.cursor
      isNew = true
      const files = page.entries.filter(({ type }) => type === 'file')
      const { may = [], others = [] } = Object.groupBy(files, (entry) =>
        names.mayHavePreview(entry, maxFileSize) ? 'may' : 'others',
      )
      entries.learn(userUuid, may, others, cursor)
    }
    if (!isComplete) this.#noticeIn(isNew ? soonMs : laterMs, userUuid)
  }

  #noticeIn(ms: number, userUuid: string): void {
    setTimeout(() => this.notice(userUuid), ms).unref()
  }
}
