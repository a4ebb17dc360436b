import { setTimeout as delay } from 'node:timers/promises'
import {
  type ChangeLog,
  type FileChange,
  type FilesService,
  isNodekeepError,
  type Log,
} from '@nodekeep/plugin-sdk'
import { changesAfter } from '../changes-after.ts'
import type { ContentIndex, FileVersion } from './content-index.ts'
import type { Contents } from './contents.ts'

/** Milliseconds without a change of a user after which their files are hashed. Writes have the disk to themselves until then. */
const quietMs = 2000

/** Milliseconds after which the files are hashed although they keep changing. */
const longestMs = 60_000

interface BackgroundIndexServices {
  readonly changes: ChangeLog
  readonly files: FilesService
  readonly index: ContentIndex
  readonly contents: Contents
  /** Whether the files of a user are hashed. */
  readonly isWanted: (userUuid: string) => boolean
  readonly bytesPerSecond: number
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
  readonly log: Log
}

/** A user with new changes: the times of the first and the last one, in milliseconds of `performance.now()`. */
interface Waiting {
  readonly first: number
  last: number
}

/**
 * Hashes the files of users in the background, one after the other, so that clients need not wait for it and need not send what
 * the node has already. All files are hashed first, and those that change from then on.
 */
export class BackgroundIndex {
  readonly #services: BackgroundIndexServices
  readonly #waiting = new Map<string, Waiting>()
  #running: Promise<void> | null = null

  constructor(services: BackgroundIndexServices) {
    this.#services = services
  }

  /** Records that a user may have new changes. */
  notice(userUuid: string): void {
    const { signal, isWanted } = this.#services
    if (signal.aborted) return
    const now = performance.now()
    const waiting = this.#waiting.get(userUuid)
    if (waiting !== undefined) waiting.last = now
    else if (isWanted(userUuid)) this.#waiting.set(userUuid, { first: now, last: now })
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** Waits for the end of running work, after the signal. */
  async stop(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal, log, isWanted } = this.#services
    while (this.#waiting.size > 0 && !signal.aborted) {
      const userUuid = this.#nextUser()
      if (userUuid === null) {
        await delay(quietMs / 2, undefined, { signal, ref: false }).catch(() => {})
        continue
      }
      this.#waiting.delete(userUuid)
      // The user may have been erased, or may have removed the last device.
      if (!isWanted(userUuid)) continue
      await this.#update(userUuid).catch((error) => {
        if (!signal.aborted) log.warn({ err: error, user: userUuid }, 'Files cannot be hashed now.')
      })
    }
    this.#running = null
  }

  /** A user whose files have been quiet for long enough. */
  #nextUser(): string | null {
    const now = performance.now()
    for (const [userUuid, { first, last }] of this.#waiting) {
      if (now - last > quietMs || now - first > longestMs) return userUuid
    }
    return null
  }

  /** Brings the index up to the newest change of a user. */
  async #update(userUuid: string): Promise<void> {
    const { changes, index, signal } = this.#services
    for (;;) {
      signal.throwIfAborted()
      const position = index.positionOf(userUuid)
      const rows = position === null ? null : await changesAfter(changes, userUuid, position)
      if (position === null || rows === null) {
        await this.#begin(userUuid)
        continue
      }
      for (const row of rows) await this.#take(userUuid, row)
      const last = rows.at(-1)
      if (last === undefined) return
      index.setPosition(userUuid, { epoch: position.epoch, seq: last.seq, id: last.id })
    }
  }

  /** Hashes all files of a user. Those of another history may have the same revisions with other contents. */
  async #begin(userUuid: string): Promise<void> {
    const { changes, index } = this.#services
    await index.forgetTree(userUuid, '')
    const head = await changes.head(userUuid)
    await this.#walk(userUuid, '/')
    index.setPosition(userUuid, head)
  }

  /** Hashes a file, or all files of a folder. */
  async #indexTree(userUuid: string, path: string): Promise<void> {
    const entry = await this.#services.files.for({ uuid: userUuid }).stat(path).catch(nullIfUnreachable)
    if (entry?.type === 'directory') await this.#walk(userUuid, path)
    else if (entry !== null) await this.#hash(userUuid, entry)
  }

  async #walk(userUuid: string, folder: string): Promise<void> {
    const folders: string[] = []
    try {
      for await (const { type, path, revision } of this.#services.files
        .for({ uuid: userUuid })
        .list(folder)) {
        if (type === 'directory') folders.push(path)
        else if (revision === undefined) await this.#indexTree(userUuid, path)
        else await this.#hash(userUuid, { path, revision })
      }
    } catch (error) {
      nullIfUnreachable(error)
    }
    for (const path of folders) await this.#walk(userUuid, path)
  }

  async #take(userUuid: string, { op, path, source, revision }: FileChange): Promise<void> {
    const { index } = this.#services
    if (op === 'delete') await index.forgetTree(userUuid, path)
    if (op === 'write' && revision !== undefined) await this.#hash(userUuid, { path, revision })
    if (op !== 'move' || source === undefined) return
    await index.moveTree(userUuid, source, path)
    // Files that moved before they were hashed are not in the index.
    await this.#indexTree(userUuid, path)
  }

  /** Hashes a file, no faster than the bound. */
  async #hash(userUuid: string, file: FileVersion): Promise<void> {
    const { index, contents, bytesPerSecond, signal, log } = this.#services
    signal.throwIfAborted()
    if (index.sha256Of(userUuid, file) !== null) return
    const since = performance.now()
    const content = await contents.contentOf(userUuid, file, signal).catch((error) => {
      signal.throwIfAborted()
      log.debug({ err: error, user: userUuid }, 'A file cannot be hashed now.')
      return null
    })
    const dueMs = ((content?.size ?? 0) / bytesPerSecond) * 1000 - (performance.now() - since)
    if (dueMs > 0) await delay(dueMs, undefined, { signal, ref: false })
  }
}

/** Nothing is there any more, or the mount does not answer. */
function nullIfUnreachable(error: unknown): null {
  if (isNodekeepError(error)) return null
  throw error
}
