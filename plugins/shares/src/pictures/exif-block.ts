/** Most bytes of an EXIF block that are looked at: as many as a JPEG has room for. */
export const mostExifBytes = 64 * 1024

const orientationTag = 0x0112

/** The type of numbers of 16 bits. */
const shortType = 3

/**
 * Reads the orientation of a picture, from 1, upright, to 8, in its EXIF block (CIPA DC-008, section 4.6): a TIFF header and a table of tags, with
 * or without `Exif` in front. Blocks that make no sense are upright. `exif-reader`, which the previews use, follows all tags, so that a
 * block can make it work for seconds: it belongs into a sandbox, and one tag is enough here.
 */
export function orientationInExif(block: Buffer): number {
  const tiff = block.toString('latin1', 0, 6) === 'Exif\0\0' ? block.subarray(6) : block
  const isLittle = tiff[0] === 0x49
  const uint16 = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  if (tiff.length < 8) return 1
  const table = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  if (table + 2 > tiff.length) return 1
  const end = Math.min(table + 2 + uint16(table) * 12, tiff.length - 11)
  for (let at = table + 2; at < end; at += 12) {
    if (uint16(at) !== orientationTag || uint16(at + 2) !== shortType) continue
    const orientation = uint16(at + 8)
    return orientation >= 1 && orientation <= 8 ? orientation : 1
  }
  return 1
}

/** Makes the EXIF block that tells an orientation and nothing else: a TIFF header, and a table with one tag of one number of 16 bits. */
export function exifOfOrientation(orientation: number): Buffer {
  const block = Buffer.alloc(26)
  block.write('MM\0*', 'latin1')
  block.writeUInt32BE(8, 4)
  block.writeUInt16BE(1, 8)
  block.writeUInt16BE(orientationTag, 10)
  block.writeUInt16BE(shortType, 12)
  block.writeUInt32BE(1, 14)
  block.writeUInt16BE(orientation, 18)
  return block
}
