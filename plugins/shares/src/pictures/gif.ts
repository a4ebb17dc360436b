import type { PictureDraft } from './cleaned-picture.ts'
import type { PictureBytes } from './picture-bytes.ts'
import { RefusedPicture } from './refused-picture.ts'

// First bytes of blocks.
const extension = 0x21
const image = 0x2c
const trailer = 0x3b

// Kinds of extensions.
const frameControl = 0xf9
const application = 0xff

/** The applications whose data decoders use: for repetitions, and for the profile of colors. */
const keptApplications: ReadonlySet<string> = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012'])

/** The flag of a table of colors, and the bits of its size. */
const tableFlag = 0x80
const tableBits = 0x07

/**
 * Plans a GIF picture (GIF89a Specification). Images, the control of frames, repetitions and the profile of colors stay. Comments, texts and the data
 * of other applications, such as XMP, go, and so does all after the end.
 *
 * @throws RefusedPicture
 */
export async function planGif(bytes: PictureBytes, draft: PictureDraft): Promise<void> {
  const head = await bytes.take(13)
  await bytes.skip(tableBytes(head[10]))
  draft.keep(0, bytes.position)
  let hasImage = false
  for (;;) {
    const start = bytes.position
    const [block] = await bytes.take(1)
    if (block === trailer) {
      draft.keep(start, bytes.position)
      break
    }
    if (block === image) {
      hasImage = true
      const place = await bytes.take(9)
      // The bits of the smallest code follow the table.
      await bytes.skip(tableBytes(place[8]) + 1)
      await passParts(bytes)
      draft.keep(start, bytes.position)
    } else if (block === extension) {
      const [kind] = await bytes.take(1)
      const name = await passExtension(bytes)
      if (kind === frameControl || (kind === application && keptApplications.has(name)))
        draft.keep(start, bytes.position)
    } else throw new RefusedPicture('broken')
  }
  if (!hasImage) throw new RefusedPicture('broken')
}

/** Passes the parts of an extension. Returns the first one as text. */
async function passExtension(bytes: PictureBytes): Promise<string> {
  const [length = 0] = await bytes.take(1)
  if (length === 0) return ''
  const first = await bytes.take(length)
  await passParts(bytes)
  return first.toString('latin1')
}

/** Passes the parts of a block, each of which has its length in front, up to the empty one. They are many, so none is a step of its own. */
async function passParts(bytes: PictureBytes): Promise<void> {
  /** Bytes up to the next length. */
  let at = 0
  for (;;) {
    const chunk = await bytes.peek()
    if (chunk.length === 0) throw new RefusedPicture('broken')
    while (at < chunk.length) {
      const length = chunk[at] ?? 0
      at += 1 + length
      if (length === 0) {
        bytes.pass(at)
        return
      }
    }
    bytes.pass(chunk.length)
    at -= chunk.length
  }
}

/** Bytes of the table of colors that flags tell. */
function tableBytes(flags = 0): number {
  return flags & tableFlag ? 3 * 2 ** ((flags & tableBits) + 1) : 0
}
