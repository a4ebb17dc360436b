/** The program in the sandbox: decodes HEIC pictures. */
import { serveContents } from '@nodekeep/plugin-sdk/sandbox-content'
import type { PictureAnswer, PictureOrder } from '../protocol.ts'
import { decodePicture, TooLarge } from './libheif.ts'
import { scaleDown } from './scale-down.ts'

serveContents((order, content) => {
  const { longestSide, maxPixels } = order as PictureOrder
  try {
    const picture = decodePicture(content, maxPixels)
    const scaled = scaleDown(picture, longestSide)
    const { width, height, exif } = picture
    const answer: PictureAnswer = { width, height, scaled: { width: scaled.width, height: scaled.height } }
    return { answer, parts: [scaled.rgba, ...(exif === null ? [] : [exif])] }
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    const answer: PictureAnswer = 'too-large'
    return { answer, parts: [] }
  }
})
