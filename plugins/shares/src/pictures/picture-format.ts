/** The signatures of pictures at their start, each with the name of its format. A byte is one character. */
const signatures: readonly (readonly [string, string])[] = [
  ['\xff\xd8', 'JPEG'],
  ['\x89PNG\r\n\x1a\n', 'PNG'],
  ['GIF87a', 'GIF'],
  ['GIF89a', 'GIF'],
  // Most raw formats of cameras are TIFF, or close to it.
  ['II*\0', 'TIFF'],
  ['MM\0*', 'TIFF'],
  ['II+\0', 'TIFF'],
  ['MM\0+', 'TIFF'],
  ['IIRO\x08', 'raw'],
  ['IIRS\x08', 'raw'],
  ['MMOR\0', 'raw'],
  ['IIU\0', 'raw'],
  ['FUJIFILMCCD-RAW', 'raw'],
  ['FOVb', 'raw'],
  ['\0MRM', 'raw'],
  ['II\x1a\0\0\0HEAPCCDR', 'raw'],
  ['\xff\x0a', 'JPEG XL'],
  ['\0\0\0\x0cJXL ', 'JPEG XL'],
  ['\0\0\0\x0cjP  ', 'JPEG 2000'],
  ['\xff\x4f\xff\x51', 'JPEG 2000'],
  ['II\xbc', 'JPEG XR'],
  ['BPG\xfb', 'BPG'],
  ['FLIF', 'FLIF'],
  ['8BPS', 'Photoshop'],
  ['\x8aMNG', 'MNG'],
  ['\x8bJNG', 'JNG'],
]

/** The brands of HEIF and its relatives, which are boxes (ISO/IEC 14496-12, section 4.3): four letters each, the first one after eight bytes. */
const brands: readonly (readonly [RegExp, string])[] = [
  [/^(?:[\s\S]{4})+?avi[fs]/, 'AVIF'],
  [/^(?:[\s\S]{4})+?(?:he[iv][cmsx]|mif[12]|msf1)/, 'HEIC'],
  [/^(?:[\s\S]{4})+?crx /, 'raw'],
]

/** Endings of names that programs give to pictures with a place or a camera. */
const endings =
  /\.(?:a?png|arw|avifs?|bpg|cr[23w]|dng|flif|gif|hdp|hei[cf]s?|hif|j2k|jfif?|jif|jp[2efxg]|jpeg|jx[lr]|[jm]ng|nef|nrw|orf|pef|pjpe?g|pjp|ps[bd]|raf|raw|rw2|sr[2fw]|tiff?|wdp|webp|x3f)$/i

/** The start of an XMP packet in a file of its own (XMP Specification, part 1, section 7.3), with or without a declaration of XML. */
const sidecar = /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:\?xpacket begin|x:xmpmeta)/

/** Bytes of a file that tell the format. */
export const headBytes = 512

/** Tells the format of a picture by its first bytes; null for everything else, and for pictures that have no such data, as SVG and BMP. */
export function pictureFormat(head: Buffer): string | null {
  const text = head.toString('latin1', 0, headBytes)
  if (/^RIFF[\s\S]{4}WEBP/.test(text)) return 'WebP'
  if (text.startsWith('ftyp', 4)) return brands.find(([brand]) => brand.test(text))?.[1] ?? null
  return signatures.find(([signature]) => text.startsWith(signature))?.[1] ?? null
}

/** Whether a file is a picture by its name. */
export function hasPictureName(name: string): boolean {
  return endings.test(name)
}

/** Whether a file has the data of a picture that lies beside it, as XMP: by its first bytes, or by its name. */
export function isSidecar(head: Buffer, name: string): boolean {
  return sidecar.test(head.toString('latin1', 0, headBytes)) || /\.xmp$/i.test(name)
}
