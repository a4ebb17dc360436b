import { Refusal } from '@nodekeep/plugin-sdk/sandbox-content'
import type { Pixels } from './scale-down.ts'

/** A value of an enumeration. */
type Enumerated = object
/** An error of the library, in place of a result. */
interface HeifError {
  readonly code: Enumerated
}
/** Something within the library's memory. */
interface Handle {
  readonly code?: undefined
}
interface Channel {
  readonly id: Enumerated
  /** Bytes from one row to the next. */
  readonly stride: number
  /** A view of the library's memory. */
  readonly data: Uint8Array
}
interface DecodedImage {
  readonly code?: undefined
  readonly image: object
  readonly width: number
  readonly height: number
  readonly channels: readonly Channel[]
}

/**
 * The parts of libheif that are used here. Its JavaScript has no types.
 *
 * @see https://github.com/strukturag/libheif/blob/master/libheif/api/libheif/heif_emscripten.h
 */
export interface LibHeif {
  readonly heif_error_code: { readonly heif_error_Ok: Enumerated }
  readonly heif_colorspace: { readonly heif_colorspace_RGB: Enumerated }
  readonly heif_chroma: { readonly heif_chroma_interleaved_RGBA: Enumerated }
  readonly heif_channel: { readonly heif_channel_interleaved: Enumerated }
  heif_context_alloc(): object
  heif_context_free(context: object): void
  heif_context_read_from_memory(context: object, file: Uint8Array): HeifError
  heif_js_context_get_primary_image_handle(context: object): Handle | HeifError
  heif_image_handle_get_width(handle: Handle): number
  heif_image_handle_get_height(handle: Handle): number
  heif_image_handle_release(handle: Handle): void
  heif_js_decode_image2(handle: Handle, colors: Enumerated, chroma: Enumerated): DecodedImage | HeifError
  heif_image_release(image: object): void
}

/** @param url of the entry whose default export makes the library */
export async function loadLibrary(url: string): Promise<LibHeif> {
  const { default: create } = (await import(url)) as { default(): LibHeif | Promise<LibHeif> }
  return create()
}

/**
 * Decodes the main picture of a file, upright and clipped, as the file says.
 *
 * @throws Refusal if the library cannot decode it, or if it has too many pixels
 */
export function decode(library: LibHeif, file: Uint8Array, maxPixels: number): Pixels {
  const context = library.heif_context_alloc()
  try {
    const { code } = library.heif_context_read_from_memory(context, file)
    if (code !== library.heif_error_code.heif_error_Ok) throw damaged()
    const handle = library.heif_js_context_get_primary_image_handle(context)
    if (isError(handle)) throw damaged()
    try {
      return decodeImage(library, handle, maxPixels)
    } finally {
      library.heif_image_handle_release(handle)
    }
  } finally {
    library.heif_context_free(context)
  }
}

function decodeImage(library: LibHeif, handle: Handle, maxPixels: number): Pixels {
  const pixels = library.heif_image_handle_get_width(handle) * library.heif_image_handle_get_height(handle)
  if (pixels > maxPixels) throw new Refusal(`The picture has more than ${maxPixels / 1e6} million pixels.`)
  const decoded = library.heif_js_decode_image2(
    handle,
    library.heif_colorspace.heif_colorspace_RGB,
    library.heif_chroma.heif_chroma_interleaved_RGBA,
  )
  if (isError(decoded)) throw damaged()
  try {
    const { width, height, channels } = decoded
    const channel = channels.find(({ id }) => id === library.heif_channel.heif_channel_interleaved)
    if (channel === undefined) throw damaged()
    const rgba = new Uint8Array(4 * width * height)
    for (let y = 0; y < height; y += 1) {
      const row = y * channel.stride
      rgba.set(channel.data.subarray(row, row + 4 * width), 4 * y * width)
    }
    return { width, height, rgba }
  } finally {
    library.heif_image_release(decoded.image)
  }
}

function isError(result: object): result is HeifError {
  return 'code' in result && result.code !== undefined
}

function damaged(): Refusal {
  return new Refusal('The picture is damaged, or of an unknown kind.')
}
