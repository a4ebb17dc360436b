import { extname } from 'node:path'
import type {
  ContentSource,
  DecodedPicture,
  Log,
  PictureDecodeOptions,
  PreviewDecoder,
} from '@nodekeep/plugin-sdk'
import {
  type ContentAnswer,
  ContentFailure,
  ContentSandbox,
  libraryFolders,
} from '@nodekeep/plugin-sdk/sandbox-process'
import { isHeic } from './heic-brands.ts'
import type { DecodedSizes, PictureAnswer, PictureOrder } from './protocol.ts'

const mebibyte = 2 ** 20
const pageBytes = 65_536
/** Cameras make pictures of up to 50 million pixels, or twice as many in a panorama. */
const maxPixels = 100_000_000
/** The decoder takes some eight bytes for a pixel. */
const memoryBytes = 1024 * mebibyte

/** Decodes HEIC in a sandbox process. The process starts with the first picture. */
export class HeicDecoder implements PreviewDecoder {
  readonly extensions = ['heic', 'heif']
  readonly #sandbox: ContentSandbox

  constructor(log: Log) {
    this.#sandbox = new ContentSandbox({
      main: new URL(`./sandbox/main${extname(import.meta.url)}`, import.meta.url),
      readable: libraryFolders(['libheif-js'], import.meta.url),
      heapBytes: 128 * mebibyte,
      openFiles: 64,
      memoryBytes,
      timeoutMs: 60_000,
      idleMs: 60_000,
      largestAnswer: 128 * mebibyte,
      flags: [`--wasm-max-mem-pages=${memoryBytes / pageBytes}`],
      log,
    })
  }

  recognizes(head: Uint8Array): boolean {
    return isHeic(head)
  }

  async decode(
    content: ContentSource,
    { longestSide, signal, first }: PictureDecodeOptions,
  ): Promise<DecodedPicture> {
    const order: PictureOrder = { longestSide, maxPixels }
    return pictureOf(await this.#sandbox.run(order, content, { signal, first }))
  }

  stop(): Promise<void> {
    return this.#sandbox.stop()
  }
}

/**
 * @throws ContentFailure if the picture needs too much memory, or if the answer makes no sense: a hostile picture may have taken the decoder
 *   over
 */
function pictureOf({ answer, parts }: ContentAnswer): DecodedPicture {
  if (answer === ('too-large' satisfies PictureAnswer))
    throw new ContentFailure('memory', `The picture has more than ${maxPixels / 1e6} million pixels.`)
  const { width, height, scaled } = (answer ?? {}) as Partial<DecodedSizes>
  const [rgba, exif = null] = parts
  const sizes = [width, height, scaled?.width, scaled?.height]
  const isPicture =
    sizes.every((size) => Number.isSafeInteger(size) && Number(size) > 0) &&
    rgba?.length === 4 * Number(scaled?.width) * Number(scaled?.height)
  if (!isPicture) throw new ContentFailure('refused', 'The picture cannot be decoded.')
  return {
    width: Number(width),
    height: Number(height),
    pixels: { width: Number(scaled?.width), height: Number(scaled?.height), rgba },
    exif,
  }
}
