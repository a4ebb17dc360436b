import {
  FairSlots,
  type FilesService,
  isNodekeepError,
  KeyedLock,
  NodekeepError,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { Content } from '../../protocol/content-blocks.ts'
import type { ContentHasher } from './content-hasher.ts'
import type { ContentIndex, FileVersion } from './content-index.ts'

/** Requests of a user that wait for hashes at a time. */
const mostWaiting = 4

/** Finds out the contents of files. It hashes one file of a user at a time. */
export class Contents {
  readonly #files: FilesService
  readonly #index: ContentIndex
  readonly #hasher: ContentHasher
  readonly #lock = new KeyedLock()
  /** Requests that wait, by user. */
  readonly #waiting = new FairSlots({ mostPerKey: mostWaiting })

  constructor(files: FilesService, index: ContentIndex, hasher: ContentHasher) {
    this.#files = files
    this.#index = index
    this.#hasher = hasher
  }

  /** The SHA-256 of a file; null if the file does not have the revision any more. */
  async sha256Of(userUuid: string, file: FileVersion, signal: AbortSignal): Promise<string | null> {
    const known = this.#index.sha256Of(userUuid, normal(file))
    return known ?? (await this.#found(userUuid, normal(file), signal))?.sha256 ?? null
  }

  /** The content of a file; null if the file does not have the revision any more. */
  async contentOf(userUuid: string, file: FileVersion, signal: AbortSignal): Promise<Content | null> {
    const known = this.#index.contentOf(userUuid, normal(file))
    return known ?? (await this.#found(userUuid, normal(file), signal))
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

  async #found(userUuid: string, file: FileVersion, signal: AbortSignal): Promise<Content | null> {
    return this.#lock.run([userUuid], async () => {
      signal.throwIfAborted()
      const known = this.#index.contentOf(userUuid, file)
      if (known !== null) return known
      const content = await this.#hash(this.#files.for({ uuid: userUuid }), file, signal).catch(nullIfGone)
      if (content !== null) this.#index.set(userUuid, file, content)
      return content
    })
  }

  async #hash(
    files: UserFiles,
    { path, revision }: FileVersion,
    signal: AbortSignal,
  ): Promise<Content | null> {
    if ((await files.stat(path)).revision !== revision) return null
    const { entry, content } = await files.read(path, { reuseBuffers: true, signal })
    if (entry.revision !== revision) {
      for await (const _chunk of content) break
      return null
    }
    const found = await this.#hasher.hash(content, entry.size)
    // Another program may have changed the file while it was read.
    return (await files.stat(path)).revision === revision ? found : null
  }
}

/** Names that are equal in NFC are one name. */
function normal({ path, revision }: FileVersion): FileVersion {
  return { path: path.normalize('NFC'), revision }
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
