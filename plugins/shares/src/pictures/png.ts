import { crc32 } from 'node:zlib'
import type { PictureDraft } from './cleaned-picture.ts'
import { exifOfOrientation, mostExifBytes, orientationInExif } from './exif-block.ts'
import type { PictureBytes } from './picture-bytes.ts'
import { RefusedPicture } from './refused-picture.ts'

/**
 * The chunks that stay, each with the most bytes that its content may have: those with pixels and frames, and those by which decoders know
 * colors, transparency and the form of a pixel.
 */
const kept: ReadonlyMap<string, number> = new Map([
  ['IHDR', 13],
  ['PLTE', 3 * 256],
  ['IDAT', Number.POSITIVE_INFINITY],
  ['IEND', 0],
  ['acTL', 8],
  ['fcTL', 26],
  ['fdAT', Number.POSITIVE_INFINITY],
  ['tRNS', 256],
  ['bKGD', 6],
  ['cHRM', 32],
  ['gAMA', 4],
  ['iCCP', Number.POSITIVE_INFINITY],
  ['sBIT', 4],
  ['sRGB', 1],
  ['cICP', 4],
  ['mDCV', 24],
  ['cLLI', 8],
  ['pHYs', 9],
])

/** Bytes of a chunk besides its content: its length, its type and its checksum. */
const frameBytes = 12

/**
 * Plans a PNG picture (PNG Specification, third edition, section 5). Chunks that the node does not know go, and so does all after the end; a picture
 * with an unknown chunk that decoders must understand is refused. An orientation stays as a chunk `eXIf` of its own.
 *
 * @throws RefusedPicture
 */
export async function planPng(bytes: PictureBytes, draft: PictureDraft): Promise<void> {
  draft.keep(0, 8)
  await bytes.skip(8)
  let hasPixels = false
  let hasExif = false
  for (let type = ''; type !== 'IEND'; ) {
    const start = bytes.position
    const head = await bytes.take(8)
    const length = head.readUInt32BE()
    const isFirst = type === ''
    type = head.toString('latin1', 4)
    const end = start + frameBytes + length
    if (isFirst !== (type === 'IHDR')) throw new RefusedPicture('broken')
    if (length <= (kept.get(type) ?? -1)) draft.keep(start, end)
    else if (isCritical(type)) throw new RefusedPicture('broken')
    else if (type === 'eXIf' && !hasExif) {
      hasExif = true
      const orientation = orientationInExif(await bytes.take(Math.min(length, mostExifBytes)))
      if (orientation !== 1) draft.insert(chunkOf(type, exifOfOrientation(orientation)))
    }
    hasPixels ||= type === 'IDAT'
    await bytes.skip(end - bytes.position)
  }
  if (!hasPixels) throw new RefusedPicture('broken')
}

/** Whether decoders must understand a chunk, by its first letter. Types that are no letters are damage. */
function isCritical(type: string): boolean {
  return !/^[a-z][A-Za-z]{3}$/.test(type)
}

function chunkOf(type: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(frameBytes + content.length)
  chunk.writeUInt32BE(content.length)
  chunk.write(type, 4, 'latin1')
  content.copy(chunk, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + content.length)), 8 + content.length)
  return chunk
}
