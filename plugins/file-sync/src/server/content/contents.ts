import { setImmediate } from 'node:timers/promises'
import {
  FairSlots,
  type FileEntry,
  type FileIndex,
  type FilesService,
  type HashOptions,
  isNodekeepError,
  KeyedLock,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { moduleBeside, StreamThread } from '@nodekeep/plugin-sdk/threads'
import { type Content, smallestBlock } from '../../protocol/content-blocks.ts'
import type { KnownBlocks } from './known-blocks.ts'

/** Requests of a user that wait for hashes at a time. */
const mostWaiting = 4

/** A file in one revision. */
interface FileVersion {
  readonly path: string
  readonly revision: string
}

interface ContentsServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly blocks: KnownBlocks
}

/** Finds out the contents of files: the index of files has the hashes, and this cuts blocks, one file of a user at a time. */
export class Contents {
  readonly #services: ContentsServices
  readonly #thread = new StreamThread<number, Content>(
    moduleBeside(import.meta.url, 'content-thread'),
    'blocks of files',
  )
  readonly #lock = new KeyedLock()
  /** Requests that wait, by user. */
  readonly #waiting = new FairSlots({ mostPerKey: mostWaiting })

  constructor(services: ContentsServices) {
    this.#services = services
  }

  /** The SHA-256 of a file; null if the file does not have the revision any more. */
  async sha256Of(
    uuid: string,
    { path, revision }: FileVersion,
    options: Pick<HashOptions, 'isFresh' | 'signal'>,
  ): Promise<string | null> {
    const found = this.#services.index.for({ uuid }).hash(path, { revision, ...options })
    return (await found.catch(nullIfGone))?.sha256 ?? null
  }

  /** The content of a file; null if the file does not have the revision any more. */
  async contentOf(userUuid: string, file: FileVersion, signal: AbortSignal): Promise<Content | null> {
    const entry = await this.#entry(userUuid, file)
    if (entry === null) return null
    if (entry.size <= smallestBlock) {
      const sha256 = await this.sha256Of(userUuid, file, { signal })
      return sha256 === null ? null : wholeOf({ sha256, size: entry.size })
    }
    const known = this.#known(userUuid, entry)
    if (known !== null) return known
    return this.#lock.run([userUuid], async () => {
      signal.throwIfAborted()
      // Somebody who waited before may have asked for the same file.
      const now = await this.#entry(userUuid, file)
      return (
        now && (this.#known(userUuid, now) ?? (await this.#cut(userUuid, file, signal).catch(nullIfGone)))
      )
    })
  }

  /**
   * Runs the work of a request that needs hashes.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS if too many of the user wait already
   */
  async inTurn<T>(userUuid: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.isFull(userUuid)) throw tooMany()
    return await this.#waiting.run(userUuid, work)
  }

  /** Whether a file of a user has a content, as far as the index knows. */
  async isThere(uuid: string, sha256: string): Promise<boolean> {
    return (await this.#services.index.for({ uuid }).withContent(sha256)).length > 0
  }

  /** Forgets the blocks of a content if no file of the user has it any more. */
  async forgetUnused(userUuid: string, sha256: string): Promise<void> {
    if (!(await this.isThere(userUuid, sha256))) this.#services.blocks.forget(userUuid, sha256)
  }

  /** Forgets the blocks of all contents that no file has any more. */
  async sweep(signal: AbortSignal): Promise<void> {
    await this.#services.blocks.sweep(async (userUuid, sha256) => {
      await setImmediate()
      signal.throwIfAborted()
      return this.isThere(userUuid, sha256)
    })
  }

  /** Ends the thread. Running calls reject. */
  close(): Promise<void> {
    return this.#thread.close()
  }

  async #entry(uuid: string, { path, revision }: FileVersion): Promise<FileEntry | null> {
    const entry = await this.#services.files.for({ uuid }).stat(path).catch(nullIfGone)
    return entry?.type === 'file' && entry.revision === revision ? entry : null
  }

  #known(userUuid: string, { size, sha256 }: FileEntry): Content | null {
    const blocks = sha256 === undefined ? null : this.#services.blocks.of(userUuid, sha256)
    return sha256 === undefined || blocks === null ? null : { sha256, size, blocks }
  }

  async #cut(uuid: string, file: FileVersion, signal: AbortSignal): Promise<Content | null> {
    const { path, revision } = file
    const { files, index, blocks } = this.#services
    const { entry, content } = await files.for({ uuid }).read(path, { reuseBuffers: true, signal })
    if (entry.revision !== revision) {
      for await (const _chunk of content) break
      return null
    }
    const found = await this.#thread.run(entry.size, content)
    // Another program may have changed the file while it was read.
    if ((await this.#entry(uuid, file)) === null) return null
    await index.for({ uuid }).setHash(path, { revision, size: found.size, sha256: found.sha256 })
    blocks.set(uuid, found)
    return found
  }
}

/** A content of at most one block. */
function wholeOf(whole: Omit<Content, 'blocks'>): Content {
  return { ...whole, blocks: whole.size === 0 ? [] : [whole] }
}

/** Nothing is at the path, it is a folder, or it is no path. */
function nullIfGone(error: unknown): null {
  const gone: readonly string[] = ['NOT_FOUND', 'VALIDATION_ERROR', 'CONFLICT']
  if (isNodekeepError(error) && gone.includes(error.code)) return null
  throw error
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `${mostWaiting} requests of yours wait for hashes already. Try again when one is answered.`,
    { headers: { 'retry-after': '5' } },
  )
}
