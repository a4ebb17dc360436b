import {
  type ContentSource,
  type FilesService,
  isNodekeepError,
  KeyedLock,
  type Log,
  NodekeepError,
  type PreviewDecoder,
  type PreviewDecoders,
  type Required,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import { isContentFailure } from '@nodekeep/plugin-sdk/sandbox-process'
import type { PreviewCache } from './cache/preview-cache.ts'
import { factsIn, isWebp } from './checked-answer.ts'
import { type Failure, failureOf } from './failures.ts'
import type { PictureSandbox } from './picture-sandbox.ts'
import { type PreviewSize, previewSizes } from './preview-sizes.ts'
import { formatOf } from './protocol/formats.ts'
import type { PreviewOrder } from './protocol/orders.ts'
import type { ContentTable } from './tables/content-table.ts'
import { unlessFull } from './tables/unless-full.ts'

/** Bytes of a file that decoders look at first. */
const headBytes = 4096

/** A version of a file of a user. */
export interface FileVersion {
  readonly userUuid: string
  readonly path: string
  readonly revision: string
  /** Bytes. */
  readonly bytes: number
  /** Hexadecimal. */
  readonly sha256: string
}

/** The previews of a file, or why there are none. `unknown` is not remembered: it costs little to find out. */
type Made = { readonly previews: ReadonlyMap<PreviewSize, Uint8Array> } | { readonly failure: Failure }

interface PreviewMakerServices {
  readonly files: FilesService
  readonly decoders: Required<typeof PreviewDecoders>
  readonly sandbox: PictureSandbox
  readonly contents: ContentTable
  readonly cache: PreviewCache
  readonly maxPixels: number
  /** Whether a user still is one. */
  readonly isUser: (userUuid: string) => boolean
  readonly log: Pick<Log, 'info'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Makes the previews of files, and remembers what it learns about their contents. */
export class PreviewMaker {
  readonly #services: PreviewMakerServices
  readonly #lock = new KeyedLock()

  constructor(services: PreviewMakerServices) {
    this.#services = services
  }

  /**
   * Makes previews that are not there yet. Work on a content waits for other work on it, and takes its outcome.
   *
   * @param sizes none, to learn only what a picture tells about itself
   * @param first whether somebody waits for the previews
   * @throws NodekeepError SERVICE_UNAVAILABLE if it may be tried again later; NOT_FOUND if the file is gone; the reason of the signal
   */
  make(file: FileVersion, sizes: readonly PreviewSize[], first: boolean): Promise<Made> {
    return this.#lock.run([`${file.userUuid}/${file.sha256}`], async () => {
      this.#services.signal.throwIfAborted()
      return (await this.#present(file, sizes)) ?? (await this.#make(file, sizes, first))
    })
  }

  async #present({ userUuid, sha256 }: FileVersion, sizes: readonly PreviewSize[]): Promise<Made | null> {
    const { contents, cache } = this.#services
    const known = contents.get(userUuid, sha256)
    if (known === null) return null
    if (known.failure !== null) return { failure: known.failure }
    const previews = new Map<PreviewSize, Uint8Array>()
    for (const size of sizes) {
      const preview = await cache.get({ userUuid, sha256, size })
      if (preview === null) return null
      previews.set(size, preview)
    }
    return { previews }
  }

  async #make(file: FileVersion, sizes: readonly PreviewSize[], first: boolean): Promise<Made> {
    const { contents, log, signal } = this.#services
    const { userUuid, sha256 } = file
    const head = await this.#headOf(file)
    try {
      const decoder = this.#decoderFor(head)
      if (formatOf(head) === null && decoder === null) return { failure: 'unknown' }
      return await (decoder === null
        ? this.#decode(file, sizes, first)
        : this.#decodeBy(decoder, file, sizes, first))
    } catch (error) {
      if (isNodekeepError(error) && error.code === 'CONFLICT') throw keepsChanging()
      if (!isContentFailure(error)) throw error
      const failure = failureOf(error)
      log.info({ user: userUuid, sha256, failure, err: error }, 'A file has no preview.')
      signal.throwIfAborted()
      this.#remember(userUuid, () => contents.putFailure(userUuid, sha256, failure))
      return { failure }
    }
  }

  /** The sandbox knows the format. */
  #decode(file: FileVersion, sizes: readonly PreviewSize[], first: boolean): Promise<Made> {
    return this.#finish(
      file,
      sizes,
      first,
      {},
      { size: file.bytes, bytes: this.#contentOf(file, { reuseBuffers: true }) },
    )
  }

  /** Another plugin knows the format. The sandbox makes the previews of its pixels. */
  async #decodeBy(
    decoder: PreviewDecoder,
    file: FileVersion,
    sizes: readonly PreviewSize[],
    first: boolean,
  ): Promise<Made> {
    const { signal, maxPixels, contents } = this.#services
    const content = { size: file.bytes, bytes: this.#contentOf(file, { reuseBuffers: true }) }
    const longestSide = Math.max(1, ...sizes.map((size) => previewSizes[size]))
    const { pixels, exif, ...picture } = await decoder.decode(content, { longestSide, signal, first })
    if (picture.width * picture.height > maxPixels) {
      this.#remember(file.userUuid, () => contents.putFailure(file.userUuid, file.sha256, 'pixels'))
      return { failure: 'pixels' }
    }
    const { width, height, rgba } = pixels
    const decoded = { width, height, picture, exif: exif && Buffer.from(exif).toString('base64') }
    return this.#finish(file, sizes, first, { decoded }, { size: rgba.length, bytes: once(rgba) })
  }

  async #finish(
    { userUuid, sha256 }: FileVersion,
    sizes: readonly PreviewSize[],
    first: boolean,
    order: Pick<PreviewOrder, 'decoded'>,
    content: ContentSource,
  ): Promise<Made> {
    const { sandbox, maxPixels, contents, cache, isUser, signal } = this.#services
    const sides = sizes.map((size) => previewSizes[size])
    const { answer, parts } = await sandbox.run({ ...order, sides, maxPixels }, content, { signal, first })
    signal.throwIfAborted()
    if (parts.length !== sizes.length || !parts.every(isWebp)) {
      this.#remember(userUuid, () => contents.putFailure(userUuid, sha256, 'broken'))
      return { failure: 'broken' }
    }
    this.#remember(userUuid, () => contents.putFacts(userUuid, sha256, factsIn(answer)))
    const previews = new Map(sizes.map((size, at) => [size, parts[at] ?? new Uint8Array(0)]))
    for (const [size, preview] of previews)
      await cache.put({ userUuid, sha256, size }, preview, () => isUser(userUuid))
    return { previews }
  }

  /** Nothing is remembered of a user whose data were erased meanwhile. */
  #remember(userUuid: string, put: () => void): void {
    if (this.#services.isUser(userUuid)) unlessFull(put)
  }

  #decoderFor(head: Uint8Array): PreviewDecoder | null {
    for (const [, decoder] of this.#services.decoders) if (decoder.recognizes(head)) return decoder
    return null
  }

  async #headOf(file: FileVersion): Promise<Buffer> {
    if (file.bytes === 0) return Buffer.alloc(0)
    const end = Math.min(headBytes, file.bytes) - 1
    return Buffer.concat(await Array.fromAsync(this.#contentOf(file, { start: 0, end })))
  }

  /** Reads a file when the first byte is asked for. The sandbox has passed a chunk on before it asks for the one after the next. */
  async *#contentOf(
    { userUuid, path, revision }: FileVersion,
    options: Pick<StorageReadOptions, 'start' | 'end' | 'reuseBuffers'>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { files, signal } = this.#services
    const { entry, content } = await files.for({ uuid: userUuid }).read(path, { ...options, signal })
    if (entry.revision !== revision) {
      for await (const _chunk of content) break
      throw keepsChanging()
    }
    yield* content
  }
}

/** The failure of a preview whose file changes while it is read. */
export function keepsChanging(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The file is being changed. Try again.', {
    headers: { 'retry-after': '1' },
  })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
