/** The format of a content, by its first bytes: names do not count. */
type Format = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'mp3' | 'flac' | 'm4a' | 'ogg'

/** The formats that may have a cover picture. */
export const audioFormats: ReadonlySet<Format> = new Set(['mp3', 'flac', 'm4a', 'ogg'])

/** The first bytes that tell the format. */
const headBytes = 64

/**
 * Tells the format of a content by its first bytes; null for all others, such as SVG, PDF and TIFF, whose decoders are large. An MP3 file
 * counts only with an ID3 tag in front, since it has no cover otherwise.
 */
export function formatOf(head: Uint8Array): Format | null {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, headBytes))
  const text = bytes.toString('latin1')
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'png'
  if (/^RIFF[\s\S]{4}WEBP/.test(text)) return 'webp'
  if (/^GIF8[79]a/.test(text)) return 'gif'
  if (text.startsWith('ID3')) return 'mp3'
  if (text.startsWith('fLaC')) return 'flac'
  if (text.startsWith('OggS')) return 'ogg'
  const brands = brandsOf(bytes)
  if (brands.some((brand) => brand === 'avif' || brand === 'avis')) return 'avif'
  return brands.some((brand) => brand === 'M4A ' || brand === 'M4B ') ? 'm4a' : null
}

/** The brands of a file of the ISO base media file format (ISO/IEC 14496-12, section 4.3): the major one, then compatible ones. */
function brandsOf(bytes: Buffer): string[] {
  if (bytes.toString('latin1', 4, 8) !== 'ftyp') return []
  const end = Math.min(bytes.readUInt32BE(0), bytes.length)
  const brands: string[] = []
  for (let at = 8; at + 4 <= end; at += 4) if (at !== 12) brands.push(bytes.toString('latin1', at, at + 4))
  return brands
}
