import type { PictureDraft } from './cleaned-picture.ts'
import { exifOfOrientation, mostExifBytes, orientationInExif } from './exif-block.ts'
import type { PictureBytes } from './picture-bytes.ts'
import { RefusedPicture } from './refused-picture.ts'

// Flags of the extended format, in the first byte of its chunk.
const animationFlag = 0x02
const exifFlag = 0x08
const alphaFlag = 0x10
const profileFlag = 0x20

/** Bytes of the chunk of the extended format: flags, three bytes in reserve, and the sides. */
const extendedBytes = 10

/** Bytes of a frame in front of its chunks. */
const frameHeadBytes = 16

const pixels: ReadonlySet<string> = new Set(['VP8 ', 'VP8L'])

/** The chunks with pixels, and those that frames have. */
const inFrame: ReadonlySet<string> = new Set(['ALPH', ...pixels])

/** The chunks that stay in the extended format, besides frames. Decoders use the first one of each type. */
const inExtended: ReadonlySet<string> = new Set(['ICCP', 'ANIM', ...inFrame])

/** A chunk of the file, from `start`: the end of its content, and its own, behind the byte that makes its length even. */
interface Chunk {
  readonly start: number
  readonly type: string
  readonly contentEnd: number
  readonly end: number
}

/**
 * Plans a WebP picture (RFC 9649). Pixels, frames and the profile of colors stay. Other chunks go, also those in frames, and so does all after
 * the end. Flags and sizes are those of what stays. An orientation stays as a chunk `EXIF` of its own.
 *
 * @throws RefusedPicture
 */
export async function planWebp(bytes: PictureBytes, draft: PictureDraft): Promise<void> {
  const head = await bytes.take(12)
  const end = 8 + head.readUInt32LE(4)
  if (end > bytes.size) throw new RefusedPicture('broken')
  draft.insert(head)
  /** The chunk of the extended format that goes out. The simple format has none, and a single chunk. */
  let extended: Buffer | null = null
  let hasExifFlag = false
  let orientation = 1
  const seen = new Set<string>()
  while (bytes.position + 8 <= end) {
    const chunk = await nextChunk(bytes, end)
    const { type, contentEnd } = chunk
    const isNew = !seen.has(type)
    if (type === 'VP8X' && seen.size === 0) {
      const [flags = 0, ...rest] = await bytes.take(extendedBytes)
      hasExifFlag = (flags & exifFlag) !== 0
      const keptFlags = flags & (animationFlag | alphaFlag | profileFlag)
      extended = chunkOf(type, Buffer.from([keptFlags, 0, 0, 0, ...rest.slice(3)]))
      draft.insert(extended)
    } else if (extended === null ? pixels.has(type) && seen.size === 0 : inExtended.has(type) && isNew)
      keepChunk(draft, chunk)
    else if (extended !== null && type === 'ANMF') await planFrame(bytes, draft, chunk)
    // Decoders look for an orientation where the flag is, in the first block.
    else if (type === 'EXIF' && isNew && hasExifFlag)
      orientation = orientationInExif(await bytes.take(Math.min(contentEnd - bytes.position, mostExifBytes)))
    seen.add(type)
    await bytes.skip(chunk.end - bytes.position)
  }
  const hasPixels = seen.has('ANMF') || [...pixels].some((type) => seen.has(type))
  if (!hasPixels) throw new RefusedPicture('broken')
  if (extended !== null && orientation !== 1) {
    extended[8] = (extended[8] ?? 0) | exifFlag
    draft.insert(chunkOf('EXIF', exifOfOrientation(orientation)))
  }
  head.writeUInt32LE(draft.length - 8, 4)
}

/** Plans a frame of a moving picture: its head, and chunks. */
async function planFrame(bytes: PictureBytes, draft: PictureDraft, frame: Chunk): Promise<void> {
  const { type, contentEnd } = frame
  const head = await bytes.take(frameHeadBytes)
  const chunks: Chunk[] = []
  const seen = new Set<string>()
  let hasOther = false
  while (bytes.position + 8 <= contentEnd) {
    const chunk = await nextChunk(bytes, contentEnd)
    if (inFrame.has(chunk.type) && !seen.has(chunk.type)) chunks.push(chunk)
    else hasOther = true
    seen.add(chunk.type)
    await bytes.skip(chunk.end - bytes.position)
  }
  hasOther ||= bytes.position < contentEnd
  if (hasOther) {
    const length = draft.length
    const rewritten = chunkOf(type, head)
    draft.insert(rewritten)
    for (const chunk of chunks) keepChunk(draft, chunk)
    rewritten.writeUInt32LE(draft.length - length - 8, 4)
  } else keepChunk(draft, frame)
}

/** Reads the head of a chunk: four letters, and the number of bytes of its content. */
async function nextChunk(bytes: PictureBytes, parentEnd: number): Promise<Chunk> {
  const start = bytes.position
  const head = await bytes.take(8)
  const contentEnd = start + 8 + head.readUInt32LE(4)
  if (contentEnd > parentEnd) throw new RefusedPicture('broken')
  // Some encoders leave out the last byte of the file.
  const end = Math.min(contentEnd + (contentEnd % 2 === start % 2 ? 0 : 1), parentEnd)
  return { start, type: head.toString('latin1', 0, 4), contentEnd, end }
}

function keepChunk(draft: PictureDraft, { start, contentEnd, end }: Chunk): void {
  draft.keep(start, end)
  if (end === contentEnd && (end - start) % 2 === 1) draft.insert(Buffer.alloc(1))
}

/** Makes a chunk of an even number of bytes. */
function chunkOf(type: string, content: Uint8Array): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}
