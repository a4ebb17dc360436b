/** The program in the sandbox: decodes HEIC pictures. Its argument is the URL of the library. */
import { serveContents } from '@nodekeep/plugin-sdk/sandbox-content'
import type { PictureAnswer, PictureOrder } from '../protocol.ts'
import { exifOf } from './exif-item.ts'
import { decode, loadLibrary } from './libheif.ts'
import { scaleDown } from './scale-down.ts'

const [, , url = ''] = process.argv
const library = await loadLibrary(url)

serveContents((order, content) => {
  const { longestSide, maxPixels } = order as PictureOrder
  const image = decode(library, content, maxPixels)
  const scaled = scaleDown(image, longestSide)
  const exif = exifOf(content)
  const { width, height } = image
  const answer: PictureAnswer = { width, height, scaled: { width: scaled.width, height: scaled.height } }
  return { answer, parts: [scaled.rgba, ...(exif === null ? [] : [exif])] }
})
