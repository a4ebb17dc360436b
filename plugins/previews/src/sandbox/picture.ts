import { Refusal } from '@nodekeep/plugin-sdk/sandbox-content'
import type { PictureFacts, PreviewOrder, RefusalReason } from '../protocol/orders.ts'
import { factsInExif } from './exif.ts'
import { sharp } from './sharp.ts'

/** Quality of the previews, from 1 to 100. */
const quality = 78

/** Effort of the encoder, from 0 to 6. More makes previews a little smaller, and takes much longer. */
const effort = 2

interface DecodedPicture {
  readonly facts: PictureFacts
  /** WebP, in the order of the sides. */
  readonly previews: readonly Uint8Array[]
}

/**
 * Makes previews of a picture: of its first frame, upright, in sRGB, never larger than the picture, and without its metadata.
 *
 * @throws Refusal with a {@link RefusalReason}
 */
export async function decodePicture(content: Uint8Array, order: PreviewOrder): Promise<DecodedPicture> {
  const { sides, maxPixels, decoded } = order
  const input = sharp(content, {
    limitInputPixels: maxPixels,
    failOn: 'error',
    sequentialRead: true,
    ...(decoded && { raw: { width: decoded.width, height: decoded.height, channels: 4 as const } }),
  })
  const facts = decoded === undefined ? await factsOf(input) : factsOfDecoded(decoded)
  if (facts.width * facts.height > maxPixels) throw refusal('pixels')
  const [largest] = sides
  if (largest === undefined) return { facts, previews: [] }
  const scaled = input.autoOrient().resize(inside(largest)).toColourspace('srgb').raw()
  const { data, info } = await readable(scaled.toBuffer({ resolveWithObject: true }))
  const raw = { width: info.width, height: info.height, channels: info.channels }
  const previews: Uint8Array[] = []
  for (const side of sides) {
    const preview = sharp(data, { raw }).resize(inside(side)).webp({ quality, effort })
    previews.push(await readable(preview.toBuffer()))
  }
  return { facts, previews }
}

async function factsOf(input: ReturnType<typeof sharp>): Promise<PictureFacts> {
  const { autoOrient, exif } = await readable(input.metadata())
  const { width, height } = autoOrient
  return { width, height, ...factsInExif(exif) }
}

function factsOfDecoded({ picture, exif }: NonNullable<PreviewOrder['decoded']>): PictureFacts {
  const { width, height } = picture
  return { width, height, ...factsInExif(exif === null ? undefined : Buffer.from(exif, 'base64')) }
}

/** @returns the error that refuses a content for a reason */
export function refusal(reason: RefusalReason): Refusal {
  return new Refusal(reason)
}

function inside(side: number) {
  return { width: side, height: side, fit: 'inside', withoutEnlargement: true } as const
}

async function readable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw refusal(String(error).includes('pixel limit') ? 'pixels' : 'broken')
  }
}
