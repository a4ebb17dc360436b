import { FairSlots, type FileIndex, type FilesService, NodekeepError, type User } from '@nodekeep/plugin-sdk'
import type { PreviewCache } from './cache/preview-cache.ts'
import { sentenceOf } from './failures.ts'
import { type FileVersion, keepsChanging, type PreviewMaker } from './preview-maker.ts'
import { madeTogether, type PreviewSize } from './preview-sizes.ts'
import type { ContentTable } from './tables/content-table.ts'

/** Previews of a user that wait to be made. */
const mostWaiting = 64

interface AskedPreviewsServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly contents: ContentTable
  readonly cache: PreviewCache
  readonly maker: PreviewMaker
  /** Most bytes of a file. */
  readonly maxFileSize: number
}

/** The previews that users ask for: from the cache, or made now. Users have their turns one after the other. */
export class AskedPreviews {
  readonly #services: AskedPreviewsServices
  readonly #slots = new FairSlots({ most: 1, mostPerKey: 1 })
  readonly #waiting = new Map<string, number>()

  constructor(services: AskedPreviewsServices) {
    this.#services = services
  }

  /**
   * Returns the present version of a file.
   *
   * @param signal aborted when the client leaves
   * @throws NodekeepError NOT_FOUND; UNPROCESSABLE if it can have no preview; SERVICE_UNAVAILABLE if its storage is out of reach
   */
  async versionOf({ uuid }: Pick<User, 'uuid'>, path: string, signal: AbortSignal): Promise<FileVersion> {
    const { files, index, maxFileSize } = this.#services
    const entry = await files.for({ uuid }).stat(path)
    if (entry.type !== 'file') throw noPreview('It is a folder.')
    if (entry.size > maxFileSize) throw noPreview('The file is too large (previews.maxFileSize).')
    const { revision, size, sha256 } = entry
    if (revision !== undefined && sha256 !== undefined)
      return { userUuid: uuid, path: entry.path, revision, bytes: size, sha256 }
    const hash = await index.for({ uuid }).hash(entry.path, { signal })
    if (hash === null) throw keepsChanging()
    return {
      userUuid: uuid,
      path: entry.path,
      revision: hash.revision,
      bytes: hash.size,
      sha256: hash.sha256,
    }
  }

  /**
   * Returns a preview as WebP.
   *
   * @param client aborted when the client leaves
   * @throws NodekeepError UNPROCESSABLE if there is none; NOT_FOUND if the file is gone; SERVICE_UNAVAILABLE if it may be tried again
   *   later; the reason of the signal
   */
  async get(file: FileVersion, size: PreviewSize, client: AbortSignal): Promise<Uint8Array> {
    const { contents, cache } = this.#services
    const { userUuid, sha256 } = file
    const failure = contents.get(userUuid, sha256)?.failure ?? null
    if (failure !== null) throw noPreview(sentenceOf(failure))
    return (await cache.get({ userUuid, sha256, size })) ?? (await this.#inTurn(file, size, client))
  }

  async #inTurn(file: FileVersion, size: PreviewSize, client: AbortSignal): Promise<Uint8Array> {
    const { userUuid } = file
    const waiting = this.#waiting.get(userUuid) ?? 0
    if (waiting >= mostWaiting) throw tooMany()
    this.#waiting.set(userUuid, waiting + 1)
    try {
      return await this.#slots.run(userUuid, async () => {
        client.throwIfAborted()
        // It is finished although the client leaves: a new process would cost more.
        const made = await this.#services.maker.make(file, madeTogether(size), true)
        if ('failure' in made) throw noPreview(sentenceOf(made.failure))
        return made.previews.get(size) ?? new Uint8Array(0)
      })
    } finally {
      const left = (this.#waiting.get(userUuid) ?? 1) - 1
      if (left === 0) this.#waiting.delete(userUuid)
      else this.#waiting.set(userUuid, left)
    }
  }
}

function noPreview(reason: string): NodekeepError {
  return new NodekeepError('UNPROCESSABLE', `There is no preview of this file. ${reason}`, {
    permanent: true,
  })
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `${mostWaiting} previews of yours wait already. Try again when some are there.`,
    { headers: { 'retry-after': '2' } },
  )
}
