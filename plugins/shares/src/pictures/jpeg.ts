import type { PictureDraft } from './cleaned-picture.ts'
import { exifOfOrientation, orientationInExif } from './exif-block.ts'
import type { PictureBytes } from './picture-bytes.ts'
import { RefusedPicture } from './refused-picture.ts'

// Codes of markers (ITU-T T.81, table B.1), which follow 0xff.
const endOfImage = 0xd9
const startOfScan = 0xda
const comment = 0xfe

/** Tables, and numbers that decoders need: DHT, DAC, DQT, DNL and DRI. */
const tables: ReadonlySet<number> = new Set([0xc4, 0xcc, 0xdb, 0xdc, 0xdd])

/** Application data that stay, without what follows its first bytes: JFIF, and the transformation of colors by Adobe. */
const jfifBytes = 14
const adobeBytes = 12

/**
 * Plans a JPEG picture (ITU-T T.81, annex B). Stay: frames, tables and scans, JFIF without its preview, the profile of colors, the marker of Adobe, and the
 * orientation. Everything else goes: application data, comments, bytes between the segments, and all after the end, such as the
 * second picture of MPF and the video of a moving photo. The end is known only behind the last scan, so the file is read as a whole.
 *
 * @throws RefusedPicture
 */
export async function planJpeg(bytes: PictureBytes, draft: PictureDraft): Promise<void> {
  draft.insert(await bytes.take(2))
  const seen = { frames: 0, scans: 0, exif: false }
  let marker = await passToMarker(bytes)
  while (marker !== endOfImage) {
    const start = bytes.position - 2
    const end = start + 2 + (await bytes.take(2)).readUInt16BE()
    if (isApplicationData(marker) || marker === comment)
      await planData(bytes, draft, { marker, start, end, seen })
    else if (tables.has(marker) || isFrame(marker) || marker === startOfScan) draft.keep(start, end)
    else throw new RefusedPicture('broken')
    if (isFrame(marker)) seen.frames += 1
    await bytes.skip(end - bytes.position)
    const isScan = marker === startOfScan
    marker = await passToMarker(bytes)
    if (isScan) {
      seen.scans += 1
      draft.keep(end, bytes.position - 2)
    }
  }
  draft.keep(bytes.position - 2, bytes.position)
  if (seen.frames !== 1 || seen.scans === 0) throw new RefusedPicture('broken')
}

interface DataSegment {
  readonly marker: number
  readonly start: number
  readonly end: number
  readonly seen: { exif: boolean }
}

/** Plans a segment of application data, or a comment. */
async function planData(bytes: PictureBytes, draft: PictureDraft, segment: DataSegment): Promise<void> {
  const { marker, start, end, seen } = segment
  const data = await bytes.take(end - bytes.position)
  const has = (code: number, name: string) =>
    marker === code && data.toString('latin1', 0, name.length) === name
  if (has(0xe0, 'JFIF\0') && data.length >= jfifBytes)
    // The last two bytes are the sides of the preview.
    draft.insert(segmentOf(marker, Buffer.concat([data.subarray(0, jfifBytes - 2), Buffer.alloc(2)])))
  else if (has(0xee, 'Adobe') && data.length >= adobeBytes)
    draft.insert(segmentOf(marker, data.subarray(0, adobeBytes)))
  else if (has(0xe2, 'ICC_PROFILE\0')) draft.keep(start, end)
  else if (has(0xe1, 'Exif\0') && !seen.exif) {
    // The first block counts.
    seen.exif = true
    const orientation = orientationInExif(data)
    if (orientation !== 1)
      draft.insert(
        segmentOf(marker, Buffer.concat([Buffer.from('Exif\0\0'), exifOfOrientation(orientation)])),
      )
  }
}

function segmentOf(marker: number, data: Uint8Array): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([head, data])
}

function isApplicationData(marker: number): boolean {
  return marker >= 0xe0 && marker <= 0xef
}

/** Whether a marker begins a frame. Three codes among theirs have other meanings: DHT, JPG and DAC. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/** Passes the bytes up to the next marker that begins or ends something, and the marker. Returns its code. */
async function passToMarker(bytes: PictureBytes): Promise<number> {
  /** Whether the byte before is 0xff. */
  let isOpen = false
  for (;;) {
    const chunk = await bytes.peek()
    if (chunk.length === 0) throw new RefusedPicture('broken')
    let at: number = isOpen ? 0 : chunk.indexOf(0xff) + 1
    isOpen ||= at > 0
    while (isOpen && at < chunk.length) {
      const code = chunk[at] ?? 0
      if (isMarker(code)) {
        bytes.pass(at + 1)
        return code
      }
      if (code !== 0xff) at = chunk.indexOf(0xff, at + 1)
      isOpen = at !== -1
      at += 1
    }
    bytes.pass(chunk.length)
  }
}

/** In a scan, 0xff 0x00 is a byte of it, and eight markers only divide it. Any number of 0xff may be in front of a marker. */
function isMarker(code: number): boolean {
  return code !== 0 && code !== 0xff && !(code >= 0xd0 && code <= 0xd7)
}
