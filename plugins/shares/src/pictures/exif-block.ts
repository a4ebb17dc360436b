import type { RemovedData } from './cleaned-picture.ts'

/** Most bytes of an EXIF block that are looked at: as many as a JPEG has room for. */
export const mostExifBytes = 64 * 1024

const orientationTag = 0x0112
const makeTag = 0x010f
const modelTag = 0x0110
const placesTag = 0x8825
const latitudeTag = 2

/** What an EXIF block tells, as far as it matters when the block is removed. */
export interface ExifFacts {
  /** From 1, upright, to 8. */
  readonly orientation: number
  readonly data: readonly RemovedData[]
}

/**
 * Reads an EXIF block (CIPA DC-008, section 4.6): a TIFF header and tables of tags, with or without `Exif` in front of it. Blocks that make no
 * sense are upright. `exif-reader`, which the previews use, follows all tags, and a block can make it work for seconds: it belongs into a
 * sandbox, and here are three tags enough.
 */
export function factsInExif(block: Buffer): ExifFacts {
  const tiff = block.toString('latin1', 0, 6) === 'Exif\0\0' ? block.subarray(6) : block
  const tags = tagsAt(tiff, tiff.length < 8 ? 0 : uint32(tiff, 4))
  const orientation = tags.get(orientationTag) ?? 1
  const places = tags.get(placesTag)
  const data: RemovedData[] = ['exif']
  if (places !== undefined && tagsAt(tiff, places).has(latitudeTag)) data.push('place')
  if (tags.has(makeTag) || tags.has(modelTag)) data.push('camera')
  return { orientation: orientation >= 1 && orientation <= 8 ? orientation : 1, data }
}

/** Makes the EXIF block that tells an orientation and nothing else: a TIFF header, and a table with one tag of one number of 16 bits. */
export function exifOfOrientation(orientation: number): Buffer {
  const block = Buffer.alloc(26)
  block.write('MM\0*', 'latin1')
  block.writeUInt32BE(8, 4)
  block.writeUInt16BE(1, 8)
  block.writeUInt16BE(orientationTag, 10)
  block.writeUInt16BE(3, 12)
  block.writeUInt32BE(1, 14)
  block.writeUInt16BE(orientation, 18)
  return block
}

/** The tags of a table with their numbers of 16 or 32 bits, or where their values are. */
function tagsAt(tiff: Buffer, offset: number): ReadonlyMap<number, number> {
  const tags = new Map<number, number>()
  if (offset < 8 || offset + 2 > tiff.length) return tags
  const end = Math.min(offset + 2 + uint16(tiff, offset) * 12, tiff.length - 11)
  for (let at = offset + 2; at < end; at += 12) {
    const isShort = uint16(tiff, at + 2) === 3
    tags.set(uint16(tiff, at), isShort ? uint16(tiff, at + 8) : uint32(tiff, at + 8))
  }
  return tags
}

function uint16(tiff: Buffer, at: number): number {
  return isLittle(tiff) ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at)
}

function uint32(tiff: Buffer, at: number): number {
  return isLittle(tiff) ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at)
}

function isLittle(tiff: Buffer): boolean {
  return tiff[0] === 0x49
}
