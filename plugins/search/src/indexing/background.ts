import { setTimeout as delay } from 'node:timers/promises'
import {
  ChangePause,
  conflict,
  type FileIndex,
  type FilesService,
  type IndexedEntry,
  isNodekeepError,
  type Log,
  messageOf,
  NodekeepError,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { diskSpace } from '@nodekeep/plugin-sdk/data-folder'
import type { Databases } from '../database/databases.ts'
import type { EntryState } from '../database/entry-state.ts'
import type { ExtractedFile, WaitingFile } from '../database/user-index.ts'
import { formatOf } from '../kinds.ts'
import type { Extractor } from './extractor.ts'
import { forgetGone } from './forget-gone.ts'

/** Files of a user that are extracted before it is the turn of the next user. */
const turnFiles = 32

/** Milliseconds after which it is the turn of the next user, if files take long. */
const turnMs = 2000

/** Bytes of texts that are stored at a time. */
const turnBytes = 1024 ** 2

/** Most milliseconds between two files. Half of the time belongs to the requests of people. */
const longestRestMs = 50

/** Milliseconds without a change of files after which work goes on: uploads have the processors and the disk to themselves. */
const quietMs = 250

/** Milliseconds for which a file waits at most, while others keep changing. */
const longestWaitMs = 1000

/** Bytes of the disk that are left to files and databases: an index can be made later. */
const leftBytes = 512 * 1024 ** 2

/** Milliseconds after which it is tried again to extract texts, and to read a file that could not be read. */
const retryMs = 60_000

interface BackgroundServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly databases: Databases
  /** A folder on the disk of the databases. */
  readonly folder: string
  readonly extractor: Extractor
  /** Waits until no person waits for an answer of the search. */
  readonly untilQuiet: () => Promise<void>
  readonly log: Pick<Log, 'warn'>
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
}

/** Extracts the texts of all files in the background, one file at a time. Users take turns. */
export class BackgroundExtraction {
  readonly #services: BackgroundServices
  /** Users who may have files that wait, in the order of their turns. */
  readonly #users = new Set<string>()
  readonly #pause = new ChangePause({ quietMs, longestMs: longestWaitMs })
  #running: Promise<void> | null = null
  #problem: string | null = null
  /** Users whose files that could not be read will be read again. */
  readonly #retrying = new Set<string>()

  constructor(services: BackgroundServices) {
    this.#services = services
  }

  /** A sentence that tells why nothing is extracted now; null if all is well. */
  get problem(): string | null {
    return this.#problem
  }

  /** Takes note that somebody changes files. */
  noteChange(): void {
    this.#pause.notice()
  }

  /** Takes note that files of a user may wait. */
  notice(userUuid: string): void {
    this.#users.add(userUuid)
    this.#running ??= this.#run()
  }

  /** Waits until nothing runs any more, after the signal has aborted. */
  async stop(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { databases, log, signal } = this.#services
    for (;;) {
      const [userUuid] = this.#users
      if (userUuid === undefined || signal.aborted) {
        // At once: a user who is noticed from now on needs another run.
        this.#running = null
        return
      }
      this.#users.delete(userUuid)
      try {
        if (await this.#turn(userUuid)) this.#users.add(userUuid)
        this.#problem = null
      } catch (error) {
        if (signal.aborted) return
        if (databases.isErased(userUuid)) continue
        const problem = messageOf(error)
        if (problem !== this.#problem)
          log.warn(
            { err: error, userUuid },
            'No words of files can be added to the search now. It is tried again.',
          )
        this.#problem = problem
        this.#users.add(userUuid)
        await delay(retryMs, undefined, { signal, ref: false }).catch(() => {})
      }
    }
  }

  /** @returns whether more files of the user may wait */
  async #turn(userUuid: string): Promise<boolean> {
    const { databases, signal } = this.#services
    if (!databases.has(userUuid)) return false
    const waiting = await databases.call(userUuid, 'waiting', turnFiles)
    if (waiting.length > 0) await this.#checkSpace()
    const extracted: ExtractedFile[] = []
    const gone: string[] = []
    let bytes = 0
    const turnBegan = performance.now()
    try {
      for (const file of waiting) {
        await this.#pause.wait(signal)
        const began = performance.now()
        const result = await this.#extract(userUuid, file)
        if (result === null) gone.push(file.id)
        else extracted.push(result)
        bytes += result?.text?.length ?? 0
        // A failure, which may have taken long, is stored before the next file: that may be a copy.
        const isFailure = result !== null && result.failed !== null && result.state !== 'none'
        if (bytes >= turnBytes || isFailure || performance.now() - turnBegan > turnMs) break
        await delay(Math.min(performance.now() - began, longestRestMs), undefined, { signal, ref: false })
      }
    } finally {
      await forgetGone(this.#services, userUuid, gone)
      if (extracted.length > 0) await databases.call(userUuid, 'store', extracted)
    }
    if (extracted.some(({ state }) => state === 'unreadable')) this.#retryLater(userUuid)
    return waiting.length > 0
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if the disk has no room for an index */
  async #checkSpace(): Promise<void> {
    const space = await diskSpace(this.#services.folder)
    if (space === null || space.free >= leftBytes) return
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      'The disk has less than 512 MiB left, which the search leaves to files and databases. Free some space.',
    )
  }

  /** @returns null if the file is gone */
  async #extract(userUuid: string, file: WaitingFile): Promise<ExtractedFile | null> {
    const extracted = await this.#extractOnce(userUuid, file)
    // It may have moved, or have been deleted, before it was read.
    return extracted?.state === 'unreadable' ? this.#extractOnce(userUuid, file) : extracted
  }

  async #extractOnce(userUuid: string, file: WaitingFile): Promise<ExtractedFile | null> {
    const { files, index, databases, extractor, untilQuiet, signal } = this.#services
    await untilQuiet()
    signal.throwIfAborted()
    const entry = await index.for({ uuid: userUuid }).entry(file.id)
    if (entry === null) return null
    const { path, size, revision } = entry
    const format = formatOf(entry)
    if (format === null) return withState(file, entry, 'none')
    const sha256 = entry.sha256 ?? (file.mayHaveFailed ? await this.#hashOf(userUuid, entry) : null)
    const failure = sha256 === null ? null : await databases.call(userUuid, 'failure', { sha256, format })
    if (failure !== null) return withState(file, entry, failure)
    const content = readContent(files.for({ uuid: userUuid }), { path, size, revision }, signal)
    try {
      const text = await extractor.text({ format, size, bytes: content.bytes }, signal)
      const found = { ...withState(file, entry, 'indexed'), text, isKept: format === 'pdf' }
      return { ...found, content: { ...found.content, revision: content.revision } }
    } catch (error) {
      signal.throwIfAborted()
      const { isContentFailure } = await import('@nodekeep/plugin-sdk/sandbox-process')
      if (!isContentFailure(error)) {
        if (content.failure === null && !isChange(error)) throw error
        return withState(file, entry, 'unreadable')
      }
      // A file whose name tells nothing, or the wrong thing.
      const isNone = error.reason === 'refused' && format !== 'pdf'
      const hash = sha256 ?? (isNone ? null : await this.#hashOf(userUuid, entry))
      const failed = hash === null ? null : { sha256: hash, format }
      return { ...withState(file, entry, isNone ? 'none' : error.reason), failed }
    }
  }

  /** The hash of a content that is never tried again, in any file. */
  async #hashOf(userUuid: string, { path, revision }: IndexedEntry): Promise<string | null> {
    const { index, signal } = this.#services
    try {
      const hash = await index
        .for({ uuid: userUuid })
        .hash(path, { ...(revision !== null && { revision }), signal })
      return hash?.sha256 ?? null
    } catch {
      signal.throwIfAborted()
      return null
    }
  }

  #retryLater(userUuid: string): void {
    const { databases, signal } = this.#services
    if (this.#retrying.has(userUuid)) return
    this.#retrying.add(userUuid)
    setTimeout(async () => {
      this.#retrying.delete(userUuid)
      if (signal.aborted || !databases.has(userUuid)) return
      await databases.call(userUuid, 'retry').catch(() => {})
      this.notice(userUuid)
    }, retryMs).unref()
  }
}

/** A file that is read. */
interface ReadContent {
  readonly bytes: AsyncIterable<Uint8Array>
  /** Its revision, once it is open. */
  revision: string | null
  /** The error of its storage. */
  failure: unknown
}

/** Reads a file when its bytes are asked for. It must be the one that the index of files has. */
function readContent(
  files: UserFiles,
  { path, size, revision }: Pick<IndexedEntry, 'path' | 'size' | 'revision'>,
  signal: AbortSignal,
): ReadContent {
  const read: ReadContent = { bytes: chunks(), revision, failure: null }
  return read

  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      const { entry, content } = await files.read(path, { signal })
      // Another program has changed it. The index of files tells of it later.
      if (entry.size !== size || (revision !== null && entry.revision !== revision)) {
        // The loop closes the file.
        for await (const _chunk of content) break
        throw conflict('The file has changed.')
      }
      read.revision = entry.revision
      yield* content
    } catch (error) {
      read.failure = error
      throw error
    }
  }
}

function isChange(error: unknown): boolean {
  return isNodekeepError(error) && error.code === 'CONFLICT'
}

function withState(
  { number, id }: WaitingFile,
  { size, revision, modified }: IndexedEntry,
  state: EntryState,
): ExtractedFile {
  const content = { size, revision, modified: modified?.getTime() ?? null }
  return { number, id, content, text: null, isKept: false, state, failed: null }
}
