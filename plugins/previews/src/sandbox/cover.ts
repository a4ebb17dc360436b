import { audioFormats, formatOf } from '../protocol/formats.ts'
import { refusal } from './picture.ts'

/**
 * Returns the cover picture in an audio file.
 *
 * @throws Refusal `no-cover` if it has none, `broken` if it cannot be read
 */
export async function coverOf(content: Uint8Array): Promise<Uint8Array> {
  // Most processes get pictures only. The library would take a sixth of their start.
  const { parseBuffer, selectCover } = await import('music-metadata')
  const { common } = await parseBuffer(content, undefined, { duration: false }).catch(() => {
    throw refusal('broken')
  })
  const cover = selectCover(common.picture)
  const format = cover && formatOf(cover.data)
  if (cover === null || format === null || audioFormats.has(format)) throw refusal('no-cover')
  return cover.data
}
