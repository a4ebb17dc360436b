import { type CleanedPicture, PictureDraft } from './cleaned-picture.ts'
import { planGif } from './gif.ts'
import { planJpeg } from './jpeg.ts'
import { PictureBytes, type PictureSource } from './picture-bytes.ts'
import { hasPictureName, headBytes, isSidecar, pictureFormat } from './picture-format.ts'
import { planPng } from './png.ts'
import { type RefusalReason, RefusedPicture } from './refused-picture.ts'
import { planWebp } from './webp.ts'

/** The way in which a file goes out without place and camera data. */
export type PicturePlan =
  /** It is no picture, and goes out as it is. */
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'cleaned' } & CleanedPicture)
  /** It stays. The message tells a reader of the link why, and what to do. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string }

/** Most bytes of a picture that is cleaned. The plan of a JPEG takes a look at all of them. */
const mostBytes = 512 * 1024 * 1024

const planners: ReadonlyMap<string, (bytes: PictureBytes, draft: PictureDraft) => Promise<void>> = new Map([
  ['JPEG', planJpeg],
  ['PNG', planPng],
  ['WebP', planWebp],
  ['GIF', planGif],
])

/**
 * Plans how a file goes out: pictures without all that is not needed to show them, in unchanged pixels. The first bytes tell whether it is a picture.
 * A file that is one by its name alone is refused, since programs may still find data in it, and so is a file of XMP beside a picture.
 *
 * Libraries for this were looked at, such as `exif-be-gone` and `exif-strip`: they need the whole file in memory or make a stream without
 * length and ranges, drop the orientation, keep what they do not know, and do not end at the end of the picture.
 *
 * @param name the last part of the path
 * @throws only the errors of the source
 */
export async function planPicture(name: string, source: PictureSource): Promise<PicturePlan> {
  const bytes = new PictureBytes(source)
  let format: string | null = null
  try {
    const head = await bytes.look(headBytes)
    format = pictureFormat(head)
    if (format === null) {
      if (isSidecar(head, name)) throw new RefusedPicture('sidecar')
      if (!hasPictureName(name)) return { kind: 'unchanged' }
      throw new RefusedPicture('broken')
    }
    const plan = planners.get(format)
    if (plan === undefined) throw new RefusedPicture('format')
    if (source.size > mostBytes) throw new RefusedPicture('large')
    const draft = new PictureDraft()
    await plan(bytes, draft)
    return { kind: 'cleaned', ...draft.finish() }
  } catch (error) {
    if (!(error instanceof RefusedPicture)) throw error
    return { kind: 'refused', reason: error.reason, message: messageOf(error.reason, format) }
  } finally {
    await bytes.close()
  }
}

function messageOf(reason: RefusalReason, format: string | null): string {
  const whole = 'Ask the person who made this link to send the picture as it is.'
  if (reason === 'format')
    return `The node cannot remove the place and camera data of ${format} pictures, so it does not send this one. ${whole}`
  if (reason === 'sidecar')
    return 'The file has the place and camera data of a picture, so the node does not send it. Ask the person who made this link to send it as it is.'
  if (reason === 'large')
    return `The node removes the place and camera data of pictures of up to ${mostBytes / 1024 / 1024} MB, and this one is larger. ${whole}`
  return `The picture is damaged or not whole, so the node cannot remove its place and camera data, and does not send it. ${whole}`
}
