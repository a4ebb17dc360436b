import { readFileSync } from 'node:fs'
import { Refusal } from '@nodekeep/plugin-sdk/sandbox-content'
import type { Pixels } from './scale-down.ts'

/** A picture with all its pixels, and its Exif data from the TIFF header on. */
interface Picture extends Pixels {
  readonly exif: Uint8Array | null
}

/**
 * The functions of libheif that are used here, as WebAssembly exports them: pointers are numbers, and the first argument of a function
 * that may fail points to where its error goes.
 *
 * @see https://github.com/strukturag/libheif/tree/master/libheif/api/libheif
 */
interface LibHeif {
  /** The memory. It is replaced when it grows. */
  readonly HEAPU8: Uint8Array
  _malloc(size: number): number
  _heif_context_alloc(): number
  _heif_context_read_from_memory_without_copy(
    error: number,
    context: number,
    file: number,
    size: number,
    options: number,
  ): void
  _heif_context_get_primary_image_handle(error: number, context: number, handle: number): void
  _heif_image_handle_get_width(handle: number): number
  _heif_image_handle_get_height(handle: number): number
  _heif_decode_image(
    error: number,
    handle: number,
    image: number,
    colors: number,
    chroma: number,
    options: number,
  ): void
  _heif_image_get_width(image: number, channel: number): number
  _heif_image_get_height(image: number, channel: number): number
  _heif_image_get_plane_readonly2(image: number, channel: number, stride: number): number
  _heif_image_handle_get_list_of_metadata_block_IDs(
    handle: number,
    type: number,
    ids: number,
    most: number,
  ): number
  _heif_image_handle_get_metadata_size(handle: number, id: number): number
  _heif_image_handle_get_metadata(error: number, handle: number, id: number, to: number): void
}

/** Makes an instance of the library. Its package has no types for this. */
type LibraryFactory = (options: {
  instantiateWasm(imports: object, receive: (instance: Instance) => void): object
}) => LibHeif

/** An instance of a WebAssembly module. */
interface Instance {
  readonly exports: object
}

/** The parts of https://webassembly.github.io/spec/js-api/ that are used here. TypeScript declares them for browsers only. */
interface WebAssemblyInterface {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => Instance
}

/** Values of libheif's enumerations, of heif_image.h. */
const rgb = 1
const interleavedRgba = 11
const interleaved = 10
/** Bytes of an error: its code, a second code, and a text. */
const errorBytes = 12
/** Most bytes of Exif data that are taken. JPEG has at most 64 KiB. */
const mostExifBytes = 256 * 1024

const { default: createLibrary } = (await import('libheif-js/libheif-wasm/libheif.js')) as unknown as {
  default: LibraryFactory
}
const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface }).WebAssembly
const module = new webAssembly.Module(
  readFileSync(new URL(import.meta.resolve('libheif-js/libheif-wasm/libheif.wasm'))),
)

/** Thrown for a picture that needs more memory than the process may have. */
export class TooLarge extends Error {}

/**
 * Decodes the main picture of a file, upright and clipped, as the file says. Each picture has an instance of the library of its own, with a
 * memory of its own: what a hostile picture does to it, the next one does not see, and nothing has to be freed.
 *
 * @throws Refusal if the library cannot decode the picture
 * @throws TooLarge if it has too many pixels
 */
export function decodePicture(file: Uint8Array, maxPixels: number): Picture {
  const library = createLibrary({
    instantiateWasm: (imports, receive) => {
      const instance = new webAssembly.Instance(module, imports)
      receive(instance)
      return instance.exports
    },
  })
  const handle = openPicture(library, file)
  const size = library._heif_image_handle_get_width(handle) * library._heif_image_handle_get_height(handle)
  if (size > maxPixels) throw new TooLarge()
  return { ...pixelsOf(library, handle), exif: exifOf(library, handle) }
}

function openPicture(library: LibHeif, file: Uint8Array): number {
  const context = library._heif_context_alloc()
  const copy = allocate(library, file.length)
  library.HEAPU8.set(file, copy)
  call(library, (error) =>
    library._heif_context_read_from_memory_without_copy(error, context, copy, file.length, 0),
  )
  const handle = allocate(library, 4)
  call(library, (error) => library._heif_context_get_primary_image_handle(error, context, handle))
  return readNumber(library, handle)
}

function pixelsOf(library: LibHeif, handle: number): Pixels {
  const decoded = allocate(library, 4)
  call(library, (error) => library._heif_decode_image(error, handle, decoded, rgb, interleavedRgba, 0))
  const image = readNumber(library, decoded)
  const width = library._heif_image_get_width(image, interleaved)
  const height = library._heif_image_get_height(image, interleaved)
  const strideAt = allocate(library, 4)
  const plane = library._heif_image_get_plane_readonly2(image, interleaved, strideAt)
  const stride = readNumber(library, strideAt)
  if (plane === 0 || width < 1 || height < 1) throw damaged()
  const rgba = new Uint8Array(4 * width * height)
  for (let y = 0; y < height; y += 1) {
    const row = plane + y * stride
    rgba.set(library.HEAPU8.subarray(row, row + 4 * width), 4 * y * width)
  }
  return { width, height, rgba }
}

/** @returns null if there are no Exif data, or if they are damaged */
function exifOf(library: LibHeif, handle: number): Uint8Array | null {
  const type = allocate(library, 5)
  library.HEAPU8.set(Buffer.from('Exif\0'), type)
  const ids = allocate(library, 4)
  if (library._heif_image_handle_get_list_of_metadata_block_IDs(handle, type, ids, 1) < 1) return null
  const id = readNumber(library, ids)
  const size = library._heif_image_handle_get_metadata_size(handle, id)
  if (size < 4 || size > mostExifBytes) return null
  const data = allocate(library, size)
  call(library, (error) => library._heif_image_handle_get_metadata(error, handle, id, data))
  // ISO/IEC 23008-12: first comes the number of bytes between this number and the TIFF header.
  const exif = Buffer.from(library.HEAPU8.slice(data, data + size))
  const begin = 4 + exif.readUInt32BE(0)
  return begin < size ? exif.subarray(begin) : null
}

/** Calls a function of the library that may fail. */
function call(library: LibHeif, work: (error: number) => void): void {
  const error = allocate(library, errorBytes)
  work(error)
  if (readNumber(library, error) !== 0) throw damaged()
}

function allocate(library: LibHeif, bytes: number): number {
  const pointer = library._malloc(bytes)
  if (pointer === 0) throw new TooLarge()
  return pointer
}

function readNumber({ HEAPU8: { buffer } }: LibHeif, at: number): number {
  return new DataView(buffer).getUint32(at, true)
}

function damaged(): Refusal {
  return new Refusal('The picture is damaged, or of an unknown kind.')
}
