import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type FileContentHash,
  type HashOptions,
  isNodekeepError,
  KeyedLock,
  untilAborted,
} from '@nodekeep/plugin-sdk'
import { moduleBeside, StreamThread } from '@nodekeep/plugin-sdk/threads'
import type { KnownEntry } from '../entries/known-entry.ts'
import type { Journal } from '../journal/journal.ts'
import { isMissing, type Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

/** Bytes of a file that is hashed at once. That takes less time than messages to the thread. */
const mostAtOnce = 64 * 1024

/** Milliseconds that the background is ahead of its bound at most, before it waits. */
const aheadMs = 20

interface FileHashesServices {
  readonly journal: Journal
  readonly mounts: Mounts
}

/** Options of a hash in the background. */
interface BackgroundOptions {
  readonly bytesPerSecond: number
  readonly signal: AbortSignal
}

type Pass = (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/**
 * Finds out the SHA-256 of files, in a thread of its own, and lets the index remember them. It reads one file of a user at a time for those
 * who ask. The background waits while somebody asks.
 */
export class FileHashes {
  readonly #services: FileHashesServices
  readonly #thread = new StreamThread<null, string>(
    moduleBeside(import.meta.url, 'hash-thread'),
    'hashes of files',
  )
  readonly #lock = new KeyedLock()
  /** Files that somebody waits for. */
  #asked = 0
  /** Resolves when nobody waits any more. */
  #idle = Promise.withResolvers<void>()

  constructor(services: FileHashesServices) {
    this.#services = services
  }

  /** As `hash` of `UserFileIndex`. */
  async hash(userUuid: string, path: UserPath, options: HashOptions): Promise<FileContentHash | null> {
    const known = options.isFresh ? null : await this.#known(userUuid, path, options)
    if (known !== null) return known
    this.#asked += 1
    try {
      return await this.#lock.run([userUuid], async () => {
        const { isFresh, signal } = options
        signal?.throwIfAborted()
        // Somebody who waited before may have asked for the same file.
        const found = isFresh ? null : await this.#known(userUuid, path, options)
        return found ?? (await this.#read(userUuid, path, options).catch(nullIfGone))
      })
    } finally {
      this.#asked -= 1
      if (this.#asked === 0) {
        this.#idle.resolve()
        this.#idle = Promise.withResolvers()
      }
    }
  }

  /** Hashes a file that nobody waits for, no faster than the bound. */
  async hashInBackground(
    userUuid: string,
    path: UserPath,
    { bytesPerSecond, signal }: BackgroundOptions,
  ): Promise<void> {
    const since = performance.now()
    let bytes = 0
    const pause = async () => {
      while (this.#asked > 0) await untilAborted(this.#idle.promise, signal)
      const dueMs = (bytes / bytesPerSecond) * 1000 - (performance.now() - since)
      if (dueMs > aheadMs) await delay(dueMs, undefined, { signal, ref: false })
    }
    async function* slowed(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
      for await (const chunk of content) {
        bytes += chunk.length
        yield chunk
        await pause()
      }
    }
    await pause()
    await this.#read(userUuid, path, { signal }, slowed).catch(nullIfGone)
  }

  /** As `setHash` of `UserFileIndex`. */
  async set(userUuid: string, path: UserPath, { revision, size, sha256 }: FileContentHash): Promise<void> {
    const { journal } = this.#services
    const known = await this.#entryAt(userUuid, path)
    // Other bytes in a revision that has a hash already are damage: the index keeps what the file should have.
    if (known === null || known.sha256 !== null || !mayBe(known, { revision, size })) return
    await journal.index({ kind: 'put-sha256', entry: known.id, revision, size, sha256 })
  }

  /** Ends the thread. Running calls reject. */
  close(): Promise<void> {
    return this.#thread.close()
  }

  async #known(userUuid: string, path: UserPath, { revision }: HashOptions): Promise<FileContentHash | null> {
    const entry = await this.#entryAt(userUuid, path)
    if (entry === null || entry.sha256 === null || entry.revision === null) return null
    if (revision !== undefined && entry.revision !== revision) return null
    return { revision: entry.revision, size: entry.size, sha256: entry.sha256 }
  }

  async #entryAt(userUuid: string, path: UserPath): Promise<KnownEntry | null> {
    return (await this.#services.journal.entriesOf(userUuid)).at(userUuid, path)
  }

  async #read(
    userUuid: string,
    path: UserPath,
    options: Pick<HashOptions, 'revision' | 'signal'>,
    pass: Pass = (content) => content,
  ): Promise<FileContentHash | null> {
    const { mounts } = this.#services
    const { backend, backendPath } = mounts.locate(userUuid, path)
    const { signal } = options
    const { entry, content } = await backend.read(backendPath, {
      reuseBuffers: true,
      ...(signal && { signal }),
    })
    const { revision, size } = entry
    if (options.revision !== undefined && options.revision !== revision) {
      for await (const _chunk of content) break
      return null
    }
    const sha256 = await this.#hash(pass(content), size)
    // Another program may have changed the file while it was read.
    if ((await mounts.entryAt(userUuid, path))?.revision !== revision) return null
    await this.set(userUuid, path, { revision, size, sha256 })
    return { revision, size, sha256 }
  }

  async #hash(content: AsyncIterable<Uint8Array>, size: number): Promise<string> {
    if (size > mostAtOnce) return this.#thread.run(null, content)
    const hash = createHash('sha256')
    for await (const chunk of content) hash.update(chunk)
    return hash.digest('hex')
  }
}

/** Whether the index has this version of a file, or does not know which version it has. */
function mayBe(
  known: KnownEntry,
  { revision, size }: { readonly revision: string; readonly size: number },
): boolean {
  if (known.type !== 'file') return false
  return known.revision === null ? known.size === size : known.revision === revision
}

/** Nothing is at the path, or it is a folder. */
function nullIfGone(error: unknown): null {
  if (isMissing(error) || (isNodekeepError(error) && error.code === 'VALIDATION_ERROR')) return null
  throw error
}
