import type { ContentSource } from '../content-source.ts'
import { defineRegistry, defineService, lackingMethod } from '../service.ts'
import type { User } from './users.ts'

/** A small picture of a file of a user. */
export interface WantedPreview {
  readonly user: Pick<User, 'uuid'>
  /** Absolute path within the user's files. */
  readonly path: string
  /** The longest side has at most 256, 768 or 1,600 pixels. */
  readonly size: 'small' | 'medium' | 'large'
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
}

/** Makes small pictures of files, for features that show files to people. */
export interface PreviewService {
  /**
   * Returns a preview as WebP, without metadata: made now if there is none yet.
   *
   * @throws NodekeepError NOT_FOUND; UNPROCESSABLE if the file can have none; SERVICE_UNAVAILABLE if it may be tried again later; the
   *   reason of the signal
   */
  get(wanted: WantedPreview): Promise<Uint8Array>
  /** Whether a file of this name is a picture of which there may be a preview. Whether there is one, the content decides. */
  isPicture(name: string): boolean
}

/** The previews of the plugin `previews`. */
export const Previews = defineService<PreviewService>('previews', 1)

/** A picture that was decoded. */
export interface DecodedPicture {
  /** Size of the picture in pixels, upright. */
  readonly width: number
  readonly height: number
  /** The pixels, of the whole picture, or scaled down as `decode` says. */
  readonly pixels: {
    readonly width: number
    readonly height: number
    /** In rows from the top left: red, green, blue and opacity of each pixel, in sRGB, not multiplied: `4 * width * height` bytes. */
    readonly rgba: Uint8Array
  }
  /**
   * The Exif data from its TIFF header ("II" or "MM") on, or `null`. The orientation in it counts no more: the pixels are upright.
   *
   * @see https://www.cipa.jp/std/documents/download_e.html?CIPA_DC-008-2024-E
   */
  readonly exif: Uint8Array | null
}

/** How a picture is decoded. */
export interface PictureDecodeOptions {
  /**
   * The side in pixels that the longer side of the pixels needs. A decoder may scale a larger picture down to no less than this, which
   * spares memory.
   */
  readonly longestSide: number
  readonly signal: AbortSignal
  /** Whether the picture goes before those that wait without it, because somebody waits for it. */
  readonly first: boolean
}

/** Decodes pictures of formats that `previews` does not know, such as HEIC. */
export interface PreviewDecoder {
  /**
   * The extensions of the names of such pictures, such as `psd`: in lower case, without the dot. Files with them are among the photos, and have
   * previews before anybody asks. Others have one when somebody asks. Default: none.
   */
  readonly extensions?: readonly string[]
  /**
   * Returns whether the decoder is for a file. It reads nothing, and never throws.
   *
   * @param head the first 4,096 bytes of the file, or all of a smaller one
   */
  recognizes(head: Uint8Array): boolean
  /**
   * Decodes a picture, in a process of its own, such as that of a `ContentSandbox`: files may be hostile.
   *
   * @throws ContentFailure if the content is at fault; NodekeepError SERVICE_UNAVAILABLE if it may be tried again later; the reason of
   * the signal; and what the content throws
   */
  decode(content: ContentSource, options: PictureDecodeOptions): Promise<DecodedPicture>
}

/** Decoders of further formats, by the name of the format. The first one that recognizes a file decodes it. */
export const PreviewDecoders = defineRegistry<PreviewDecoder>(
  'preview-decoders',
  1,
  (decoder) => lackingMethod(decoder, 'recognizes', 'decode') ?? wrongExtension(decoder),
)

function wrongExtension({ extensions = [] }: PreviewDecoder): string | null {
  const wrong = extensions.find((extension) => !/^[a-z0-9]{1,16}$/.test(extension))
  return wrong === undefined ? null : `has the extension "${wrong}", which must be lower case, without a dot`
}
