/**
 * Brands of pictures that are coded with HEVC.
 *
 * @see ISO/IEC 23008-12, "HEIF brands"; registered at https://mp4ra.org/registered-types/brands
 */
const hevcBrands = new Set(['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs'])

/** Returns whether a file is a HEIC picture, by the brands in its first box. Files whose brands name AVIF only are none. */
export function isHeic(head: Uint8Array): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (bytes.length < 16 || bytes.toString('latin1', 4, 8) !== 'ftyp') return false
  const end = Math.min(bytes.readUInt32BE(0), bytes.length)
  // The major brand, a version, and the compatible brands.
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && hevcBrands.has(bytes.toString('latin1', at, at + 4))) return true
  }
  return false
}
