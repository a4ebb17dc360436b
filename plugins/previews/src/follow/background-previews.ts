import { ChangePause, type FileIndex, isNodekeepError, type Log } from '@nodekeep/plugin-sdk'
import type { PreviewCache } from '../cache/preview-cache.ts'
import type { PictureSandbox } from '../picture-sandbox.ts'
import type { PreviewMaker } from '../preview-maker.ts'
import { madeTogether } from '../preview-sizes.ts'
import type { ContentTable } from '../tables/content-table.ts'
import type { EntryTable, PreviewEntry } from '../tables/entry-table.ts'

/** Milliseconds without a change of files after which work begins: uploads have the processors to themselves. */
const quietMs = 1000

/** Milliseconds for which one preview waits at most, while files keep changing. */
const longestWaitMs = 10_000

/** Milliseconds after which a file is tried again that could not be read. */
const retryMs = 5 * 60_000

interface BackgroundPreviewsServices {
  readonly index: FileIndex
  readonly entries: EntryTable
  readonly contents: ContentTable
  readonly cache: PreviewCache
  readonly maker: PreviewMaker
  readonly sandbox: Pick<PictureSandbox, 'problem'>
  readonly maxFileSize: number
  readonly log: Pick<Log, 'warn' | 'debug'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Makes the previews of files before anybody asks for them: one after the other, of the users in turn, the newest files first. */
export class BackgroundPreviews {
  readonly #services: BackgroundPreviewsServices
  readonly #pause = new ChangePause({ quietMs, longestMs: longestWaitMs })
  #running: Promise<void> | null = null
  #retry: NodeJS.Timeout | undefined
  /** Whether nothing could be recorded, as on a full disk. Otherwise, the same file would be decoded each second. */
  #isStuck = false

  constructor(services: BackgroundPreviewsServices) {
    this.#services = services
  }

  /** Takes note that somebody changes files. */
  noteChange(): void {
    this.#pause.notice()
  }

  /** Begins with the files that are due, unless it runs already. */
  begin(): void {
    if (this.#services.signal.aborted) return
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      this.#beginLater()
    })
  }

  /** Ends the timers, and waits for the end of running work, after the signal. */
  async stop(): Promise<void> {
    await this.#running
    clearTimeout(this.#retry)
  }

  async #run(): Promise<void> {
    const { entries, sandbox, log, signal } = this.#services
    this.#isStuck = false
    try {
      for (let user = ''; entries.nextDue(user) !== null; ) {
        await this.#pause.wait(signal)
        const entry = entries.nextDue(user)
        if (entry === null || signal.aborted) return
        await this.#make(entry)
        // Otherwise each file would start a process that does not work.
        if (sandbox.problem !== null) return
        user = entry.userUuid
      }
    } catch (error) {
      this.#isStuck = true
      if (!signal.aborted) log.warn({ err: error }, 'No previews can be made now.')
    }
  }

  #beginLater(): void {
    const { entries, sandbox, signal } = this.#services
    clearTimeout(this.#retry)
    if (signal.aborted) return
    const due = entries.nextDueAt()
    if (due === null) return
    const mayGoOn = sandbox.problem === null && !this.#isStuck
    const ms = mayGoOn ? Math.min(Math.max(due - Date.now(), 1000), retryMs) : retryMs
    this.#retry = setTimeout(() => this.begin(), ms).unref()
  }

  async #make(due: PreviewEntry): Promise<void> {
    const { index, entries, maxFileSize, log, signal } = this.#services
    const { userUuid, id } = due
    try {
      const ofUser = index.for({ uuid: userUuid })
      const entry = await ofUser.entry(id)
      if (entry === null || entry.size > maxFileSize) return entries.forget(userUuid, id)
      const { path, revision, size, sha256 } = entry
      const isKnown = sha256 !== null && revision !== null
      const version = isKnown ? { revision, size, sha256 } : await ofUser.hash(path, { signal })
      // The follower learns the new version.
      if (version === null) return entries.postpone(due, retryMs)
      const isDecoded = await this.#decode({ ...version, userUuid, path, bytes: version.size })
      signal.throwIfAborted()
      entries.settle(due, isDecoded ? version.sha256 : null, { ...entry, revision: version.revision })
    } catch (error) {
      if (signal.aborted) throw error
      if (!isNodekeepError(error)) log.warn({ err: error, user: userUuid }, 'A preview cannot be made now.')
      else log.debug({ err: error, user: userUuid }, 'A preview cannot be made now.')
      entries.postpone(due, retryMs)
    }
  }

  /** Returns false if nobody knows the format. */
  async #decode(file: Parameters<PreviewMaker['make']>[0]): Promise<boolean> {
    const { contents, cache, maker } = this.#services
    const { userUuid, sha256 } = file
    if (contents.get(userUuid, sha256) !== null) return true
    const sizes = madeTogether('small').filter((size) => cache.hasRoomFor(size))
    const made = await maker.make(file, sizes, false)
    return !('failure' in made && made.failure === 'unknown')
  }
}
