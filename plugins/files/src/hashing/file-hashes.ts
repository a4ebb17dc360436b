import { createHash } from 'node:crypto'
import { type FileContentHash, type HashOptions, isNodekeepError, KeyedLock } from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import { isMissing, type Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

interface FileHashesServices {
  readonly journal: Journal
  readonly mounts: Mounts
}

/** Finds out the SHA-256 of files, and lets the index remember them. It reads one file of a user at a time. */
export class FileHashes {
  readonly #services: FileHashesServices
  readonly #lock = new KeyedLock()

  constructor(services: FileHashesServices) {
    this.#services = services
  }

  /** As `hash` of `UserFileIndex`. */
  async hash(userUuid: string, path: UserPath, options: HashOptions): Promise<FileContentHash | null> {
    const known = options.isFresh ? null : await this.#known(userUuid, path, options)
    if (known !== null) return known
    return this.#lock.run([userUuid], async () => {
      const { isFresh, signal } = options
      signal?.throwIfAborted()
      // Somebody who waited before may have asked for the same file.
      const found = isFresh ? null : await this.#known(userUuid, path, options)
      return found ?? (await this.#read(userUuid, path, options).catch(nullIfGone))
    })
  }

  async #known(userUuid: string, path: UserPath, { revision }: HashOptions): Promise<FileContentHash | null> {
    const entry = (await this.#services.journal.entriesOf(userUuid)).at(userUuid, path)
    if (entry === null || entry.sha256 === null || entry.revision === null) return null
    if (revision !== undefined && entry.revision !== revision) return null
    return { revision: entry.revision, size: entry.size, sha256: entry.sha256 }
  }

  async #read(userUuid: string, path: UserPath, options: HashOptions): Promise<FileContentHash | null> {
    const { mounts, journal } = this.#services
    const { backend, backendPath } = mounts.locate(userUuid, path)
    const { signal } = options
    const { entry, content } = await backend.read(backendPath, {
      reuseBuffers: true,
      ...(signal && { signal }),
    })
    const { revision, size } = entry
    const hash = createHash('sha256')
    const isWanted = options.revision === undefined || options.revision === revision
    for await (const chunk of content) {
      if (!isWanted) break
      hash.update(chunk)
    }
    if (!isWanted) return null
    // Another program may have changed the file while it was read.
    if ((await mounts.entryAt(userUuid, path))?.revision !== revision) return null
    const sha256 = hash.digest('hex')
    const known = (await journal.entriesOf(userUuid)).at(userUuid, path)
    if (known?.revision === revision && known.sha256 !== sha256)
      await journal.index({ kind: 'put-sha256', entry: known.id, revision, sha256 })
    return { revision, size, sha256 }
  }
}

/** Nothing is at the path, or it is a folder. */
function nullIfGone(error: unknown): null {
  if (isMissing(error) || (isNodekeepError(error) && error.code === 'VALIDATION_ERROR')) return null
  throw error
}
